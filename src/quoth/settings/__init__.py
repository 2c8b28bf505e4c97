"""The user's settings, gathered from the environment, `.env` and `quoth.toml` into one frozen `Settings`.

In: variables, two files, and the overrides of the command line. Out: checked values that know where they came from. A
wrong or unknown setting is `BadConfiguration`; it is never ignored. There is no global settings object: the program
calls `load_settings` once and passes the result on. We do not use pydantic-settings, because it can tell neither where
a value came from nor which name a misspelt one is close to.
"""

from quoth.settings.fields import PREFIX, SettingRow, Settings, variables_of
from quoth.settings.load import load_settings

__all__ = ["PREFIX", "SettingRow", "Settings", "load_settings", "variables_of"]
