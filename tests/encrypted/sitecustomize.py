"""Lets every memory of this process be encrypted unless its configuration says otherwise: the variable names the key file.

Found by the processes that tests start, by way of PYTHONPATH; `tests/conftest.py` imports it for its own.
"""

from __future__ import annotations

import os

if file := os.environ.get("AMEMORIX_TEST_KEY_FILE"):
    from amemorix.config.model import Config, Encryption, Storage

    Encryption.model_fields["enabled"].default = True
    Encryption.model_fields["key_file"].default = file
    Encryption.model_rebuild(force=True)
    Storage.model_fields["encryption"].default = Encryption()
    Storage.model_rebuild(force=True)
    Config.model_fields["storage"].default = Storage()
    Config.model_rebuild(force=True)

    from amemorix.copies.operations import ExportMemory
    from amemorix.graph.requests import Export

    for request in (ExportMemory, Export):  # tests read what was exported
        request.model_fields["plain"].default = True
        request.model_rebuild(force=True)
