"""Sentences that users meet and other packages say, and those that are put together of parts: no string of ours is theirs."""

from __future__ import annotations

__all__ = ["SENTENCES"]

_PYDANTIC = (
    "Input should be {expected}", "Input should be a valid string", "Input should be a valid integer", "Input should be a valid number",
    "Input should be a valid boolean", "Input should be a valid boolean, unable to interpret input", "Input should be a valid list",
    "Input should be a valid tuple", "Input should be a valid dictionary", "Input should be a valid dictionary or instance of {class_name}",
    "Input should be a valid integer, unable to parse string as an integer",
    "Input should be a valid integer, got a number with a fractional part",
    "Unable to parse input string as an integer, exceeded maximum size",
    "Input should be a valid number, unable to parse string as a number", "Input should be a finite number",
    "Input should be greater than {gt}", "Input should be greater than or equal to {ge}", "Input should be less than {lt}",
    "Input should be less than or equal to {le}", "String should have at least {min_length} character{expected_plural}",
    "String should have at most {max_length} character{expected_plural}", "String should match pattern '{pattern}'",
    "Input should be a valid string, unable to parse raw data as a unicode string",
    "{field_type} should have at least {min_length} item{expected_plural} after validation, not {actual_length}",
    "{field_type} should have at most {max_length} item{expected_plural} after validation, not {actual_length}",
    "Extra inputs are not permitted", "Keys should be strings", "Field required",
    "Input should be None", "Recursion error - cyclic reference detected", "Recursion error - maximum validation depth exceeded",
)  # fmt: skip
"""The templates of pydantic's kinds of errors that our models can come to."""

_TYPER = (
    "Show this message and exit.", "Install completion for the current shell.",
    "Show completion for the current shell, to copy it or customize the installation.", "Missing command.", "No such command {name}.", "No such option: {name}",
    "(Possible options: {names})", "No such option: {name} (Possible options: {others})", "Invalid value: {message}", "Invalid value for {name}: {message}",
    "Missing argument {name}.", "Missing option {name}.", "Missing argument {name}. {message}", "Missing option {name}. {message}",
    "Got unexpected extra argument(s) ({names})", "Option {name} requires an argument.", "Option {name} does not take a value.",
    "{value} is not a valid int.", "{value} is not a valid float.", "{value} is not a valid boolean. Recognized values: {values}",
    "{value} is not in the range {range}.", "{value} is not one of {values}.",
    "[default: {}]", "[env var: {}]", "[required]", "Arguments", "Options", "Commands", "Error", "Aborted.",
    "Try [blue]'{command_path} {help_option}'[/] for help.", "Usage: ", " Did you mean {name}?", "No such command {name}. Did you mean {others}?",
    "No such option: {name} Did you mean {others}?",
)  # fmt: skip

_PYTHON = (
    "No such file or directory", "Permission denied", "Is a directory", "Not a directory", "File exists", "No space left on device",
    "Read-only file system", "Address already in use", "Cannot assign requested address", "Connection refused", "Name or service not known",
    "Too many open files", "File name too long", "Directory not empty", "Operation not permitted", "All connection attempts failed",
    "Expecting value: line {line} column {column} (char {char})", "Extra data: line {line} column {column} (char {char})",
    "Expecting property name enclosed in double quotes: line {line} column {column} (char {char})",
    "Expecting ',' delimiter: line {line} column {column} (char {char})", "Expecting ':' delimiter: line {line} column {column} (char {char})",
    "Unterminated string starting at: line {line} column {column} (char {char})",
    "Illegal trailing comma before end of object: line {line} column {column} (char {char})",
    "Invalid control character at: line {line} column {column} (char {char})",
    "Invalid statement", "Invalid value", "Found invalid character {char}", "Illegal character {char}", "Cannot declare {key} twice",
    "Cannot overwrite a value", "Expected '=' after a key in a key/value pair", "Expected ']' at the end of a table declaration",
    "Expected ']]' at the end of an array declaration", "Expected newline or end of document after a statement",
    "Invalid initial character for a key part", "Unclosed array", "Unclosed inline table", "Unescaped '\\' in a string",
    "Unterminated string", "Duplicate inline table key {key}", "Cannot mutate immutable namespace {key}", "Invalid date or datetime",
    "Cannot redefine namespace {key}", "{key} is a required property",
)  # fmt: skip
"""The operating system, `json`, `tomllib` and `jsonschema`."""

_COMPOSED = (
    "{0}, lines {1}-{2}: {3}", "{0} (and {1} more)", "{n0} to learn from, {n1} to choose by, {n2} to test with", "{0} is required.", "Known: {0}.", "{0} (put it in quotes)", "{0} (write it without quotes)",
    "{0} must not be empty.", '"{0}" or "{1}"', "an array of tables", "an array of strings", "an array of strings ({n0} to {n1} characters each)",
    "an integer from {n0} to {n1}", "an integer at least {n0}", "an integer at most {n0}", "an integer above {n0}", "a number from {n0} to {n1}", "a number at least {n0}",
    "a number above {n0} and at most {n1}", "a number above {n0} and below {n1}", "a string of at least {0} character",
    "a string of at least {0} characters", "a string of at most {0} characters", "a string of {0} to {1} characters", "a string", "a boolean",
    "an integer", "a number", "repeatable", "default {0}", "{n0} to {n1}", "{n0} to {n1} characters", "{n0} to {n1} entries", "at least {n0}", "at most {n0}",
    "at least {n0} characters", "at most {n0} characters", "at least {n0} entries", "at most {n0} entries", "required",
)  # fmt: skip
"""Put together of parts, such as the bounds of a setting; each is whole here, since its parts say nothing by themselves."""

SENTENCES = (*_PYDANTIC, *_TYPER, *_PYTHON, *_COMPOSED)
