"""Prints the Debian archive and suite this machine installs from: the first apt lists for its release."""

import subprocess
import sys


def archive_of(indextargets: str, codename: str) -> str | None:
    """`indextargets`: lines of "site suite component"."""
    for line in indextargets.splitlines():
        site, suite, component = line.split("|")
        if suite == codename and component == "main":
            return site
    return None


def main() -> int:
    with open("/etc/os-release", encoding="utf-8") as file:
        fields = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    codename = fields["VERSION_CODENAME"].strip('"')
    query = ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(CODENAME)|$(COMPONENT)", "Created-By: Packages"]
    targets = subprocess.run(query, check=True, capture_output=True, text=True).stdout
    archive = archive_of(targets, codename)
    if archive is None:
        print(f"archive: apt knows no archive of {codename}; run: apt-get update", file=sys.stderr)
        return 1
    print(archive, codename)
    return 0


if __name__ == "__main__":
    sys.exit(main())
