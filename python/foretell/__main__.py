"""The console script `foretell`: goes on as the program of this package."""

from __future__ import annotations

import os
import signal
import sys

from ._command import environment, program
from ._errors import Error


def main() -> None:
    # Python ignores what ends a program whose reader has gone, `| head` say.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execve(program(), [program(), *sys.argv[1:]], dict(environment()))
    except Error as error:
        print(f"foretell: error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"foretell: error: {program()}: {error.strerror}", file=sys.stderr)
    sys.exit(4)


if __name__ == "__main__":
    main()
