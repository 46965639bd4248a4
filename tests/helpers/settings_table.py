"""Every setting by the name of its variable."""

from pydantic.fields import FieldInfo

from entrypoints.settings import PREFIX, Settings


def variables() -> dict[str, FieldInfo]:
    """Return each variable that ``Settings`` reads, with its field."""
    return {
        str(field.validation_alias or f"{PREFIX}{name.upper()}"): field
        for name, field in Settings.model_fields.items()
    }
