"""Why an instance cannot start or go on. Each message says what to do; `up` prints it without a traceback.

CannotRun
  FolderInUse            another `manage.py up` holds the data folder
  PortTaken              somebody else listens where the web pages should be
  ProgramMissing         a wheel of requirements-embedded.txt is not installed
  ClusterBroken          PostgreSQL's data could not be created
  EnvironmentIncomplete  half of what belongs together is set
  StartFailed            a service or a step did not work; ends with its log
  SupervisorDied         supervisord is gone
"""


class CannotRun(RuntimeError):
    """Base of what is expected to go wrong on somebody's machine."""


class FolderInUse(CannotRun): ...


class PortTaken(CannotRun): ...


class ProgramMissing(CannotRun): ...


class ClusterBroken(CannotRun): ...


class EnvironmentIncomplete(CannotRun): ...


class StartFailed(CannotRun): ...


class SupervisorDied(CannotRun): ...
