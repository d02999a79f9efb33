"""`python -m fastcam_export` is `fastcam`."""

import sys

from fastcam_runtime.cli.main import main

sys.exit(main())
