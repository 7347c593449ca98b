"""One environment for all tests: no display, no network, two cores, and never the user's own files."""

import os
import sys
import tempfile
from pathlib import Path

# `python -m pytest` puts the repository root on the path, where the folder `kernels` passes for Hugging Face's
# package of that name, and transformers would import it.
_root = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _root]

# At import, before torch, Qt or transformers read them.
_home = tempfile.TemporaryDirectory(prefix="worldattention-tests-")
for _name in ("CONFIG", "CACHE", "DATA", "STATE"):
    os.environ[f"XDG_{_name}_HOME"] = str(Path(_home.name) / _name.lower())
_runtime = Path(_home.name) / "runtime"
_runtime.mkdir(mode=0o700)
os.environ["XDG_RUNTIME_DIR"] = str(_runtime)
os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests are small: a second thread costs more than it gives
