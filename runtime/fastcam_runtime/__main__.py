"""`python -m fastcam_runtime` is `fastcam`."""

import sys

from .cli.main import main

sys.exit(main())
