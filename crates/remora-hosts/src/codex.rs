//! Codex, as recorded from version 0.166. It has no event for a failed call, and does not report a command's exit code.

use remora_core::host::Host;
use remora_core::intake::Document;

use crate::Reading;
use crate::dialect::Dialect;
use crate::tools::{Shell, ToolKind, Tools};

pub(crate) const TOOLS: Tools = Tools {
    table: &[
        ("Bash", ToolKind::Run),
        ("apply_patch", ToolKind::Patch),
        ("Edit", ToolKind::Patch),
        ("Write", ToolKind::Patch),
        ("web_search", ToolKind::Search),
    ],
    otherwise: None,
    reports_failures: false,
    shell: Shell::Plain,
    own: "mcp__remora__",
};

const DIALECT: Dialect = Dialect {
    host: Host::Codex,
    tools: &TOOLS,
    synthetic: &[],
    turn: "turn_id",
    event: |name| name,
    prepare: |_, _| {},
};

pub(crate) fn read(event: Option<&str>, document: Document) -> Reading {
    DIALECT.read(event, document)
}
