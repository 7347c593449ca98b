"""The bundle's entry: the command line.

A bundle has no `python`, and the doctor and the window try Qt in a child process: `worldattention -c CODE` does
what `python -c CODE` does.
"""

import multiprocessing
import sys

from worldattention.app.cli import main

if __name__ == "__main__":
    multiprocessing.freeze_support()  # training starts its processes through this program
    if len(sys.argv) > 2 and sys.argv[1] == "-c":
        code = sys.argv[2]
        sys.argv = ["-c", *sys.argv[3:]]
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        sys.exit(0)
    sys.exit(main())
