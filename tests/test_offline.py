"""case_29: with no network at all, and nothing told to stay away from it, models load and worlds are made."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.wan_folder import save_wan_folder

ROOT = Path(__file__).resolve().parents[1]
CHILD = """
import json, socket, sys

asked = []

def refuse(*arguments, **options):
    asked.append(repr(arguments))
    raise OSError("no network")

for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = socket.create_connection = refuse

from worldattention.core.config import EngineConfig
from worldattention.core.loading import open_engine

made = []
for model in sys.argv[1:]:
    engine = open_engine(model, "cpu", EngineConfig())
    made.append(len(engine.step("a red ball in the village").frames))
    engine.close()
print(json.dumps({"made": made, "asked": asked}))
"""


def test_case_29_no_model_asks_the_network_for_anything(tmp_path):
    """The tests' own switches for offline work are taken away, so that the program's are what is tested."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_OFFLINE")}
    path = os.pathsep.join(
        [str(ROOT / "packaging" / "typing"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    folder = save_wan_folder(tmp_path / "Wan 1.3B")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, "pocket", str(folder)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**kept, "PYTHONPATH": path, "HF_HOME": str(tmp_path / "hub")},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"made": [12, 9], "asked": []}
    assert not (tmp_path / "hub").exists()
