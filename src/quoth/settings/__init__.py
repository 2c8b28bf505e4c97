"""What a user may set, gathered from the environment, `.env` and `quoth.toml` into one frozen `Settings`.

In: variables, two files, and what the command line overrides. Out: checked values that know where they came from. A
wrong or unknown setting is `BadConfiguration`; it is never ignored. There is no global settings object: the program
calls `load_settings` once and hands the result on. pydantic-settings is not used, because it cannot tell where a value
came from, nor which name a misspelt one is close to.
"""

from quoth.settings.fields import PREFIX, SettingRow, Settings, variables_of
from quoth.settings.load import load_settings

__all__ = ["PREFIX", "SettingRow", "Settings", "load_settings", "variables_of"]
