"""docs/running.md says of settings, rights and files what the code says."""

import json
import re
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from adapters.postgres.probe_schema import RIGHTS
from adapters.redis.status_publisher import CHANNEL_PREFIX
from entrypoints.settings import NOTIFICATIONS_STREAM
from tests.helpers.settings_table import variables

REPOSITORY = Path(__file__).parents[2]
GUIDE = (REPOSITORY / "docs" / "running.md").read_text()


def told_defaults() -> dict[str, str]:
    """Return the table of settings: variable, and default as it is printed."""
    return dict(re.findall(r"^\| `([A-Z_]+)` \| ?([^|]*?) ?\| [^|]+ \|$", GUIDE, re.MULTILINE))


def default_of(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    if field.default is None:
        return ""
    shown = field.default if isinstance(field.default, str) else json.dumps(field.default)
    return f"`{shown}`"


def test_every_setting_is_in_the_table_with_its_default() -> None:
    assert told_defaults() == {name: default_of(field) for name, field in variables().items()}


def test_every_variable_that_is_named_exists() -> None:
    named = set(re.findall(r"\bOUTBOX_[A-Z_]*[A-Z]\b", GUIDE))

    assert named - variables().keys() == set()


def test_the_grants_are_those_that_the_doctor_looks_for() -> None:
    granted = {
        table: tuple(rights.split(", "))
        for rights, tables in re.findall(
            r"^GRANT ([A-Z, ]+) ON (pm\.[^;]+) TO outbox_worker;", GUIDE, re.MULTILINE
        )
        for table in tables.split(", ")
    }

    assert granted == {**RIGHTS, "pm.outbox_migration": ("SELECT",)}


def test_the_redis_user_may_use_our_channels_and_stream() -> None:
    (user,) = re.findall(r"^ACL SETUSER .*$", GUIDE, re.MULTILINE)

    assert f"&{CHANNEL_PREFIX}* ~{NOTIFICATIONS_STREAM} +publish +xadd +client|setname" in user


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", GUIDE))
def test_every_link_leads_somewhere(target: str) -> None:
    if target.startswith("#"):
        headings = re.findall(r"^#+ (.*)$", GUIDE, re.MULTILINE)
        assert target[1:] in {heading.lower().replace(" ", "-") for heading in headings}
    else:
        assert (REPOSITORY / "docs" / target).resolve().is_file()
