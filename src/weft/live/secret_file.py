"""Files that only their owner may read, written beside and renamed: a crash leaves the old one or the new.

The owner is that of the file before, or of the folder: what root writes for a service is the service's to read.
"""

import os
from contextlib import suppress
from pathlib import Path


def write_secret(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    owner = (path if path.exists() else path.parent).stat()
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        with suppress(PermissionError):
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
    os.replace(part, path)


def make_secret_folder(path: Path) -> None:
    """Make a folder that only its owner may look into, who is that of the folder around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    owner = path.parent.stat()
    with suppress(FileExistsError):
        path.mkdir(0o700)
        with suppress(PermissionError):
            os.chown(path, owner.st_uid, owner.st_gid)
