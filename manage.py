#!/usr/bin/env python
"""The project's commands: `manage.py up` starts everything; any other is Django's or one of ours."""

import os
import sys

from embedded import environment


def main() -> None:
    try:
        if sys.argv[1:2] == ["up"]:
            # Before Django: its settings need the addresses that this command is about to choose.
            from embedded import up

            sys.exit(up.main(sys.argv[2:]))
        environment.load(environment.take_data_option(sys.argv))
    except environment.DataOptionError as error:
        sys.exit(str(error))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
