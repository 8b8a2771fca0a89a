"""Long-term memory for chatbots."""

from .errors import MemoryFault
from .host_service import AMemorixHostService
from .kernel import SDKMemoryKernel

__all__ = ["AMemorixHostService", "MemoryFault", "SDKMemoryKernel", "__version__"]

__version__ = "0.1.0"
