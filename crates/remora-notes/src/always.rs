use remora_core::ids::NoteId;
use remora_core::settings::Memory;
use remora_core::vault::{has_tag, without_extension};
use remora_store::notes::KnownNote;

/// The notes injected into every session: the named ones in the order of the setting, then the tagged ones, newest
/// first.
pub fn always_injected(notes: &[KnownNote], settings: &Memory) -> Vec<NoteId> {
    let mut injected: Vec<NoteId> = Vec::new();
    for name in &settings.obsidian_context_notes {
        injected.extend(named(notes, name).map(|note| note.id));
    }
    let mut tagged: Vec<&KnownNote> =
        notes.iter().filter(|note| has_tag(&note.tags, &settings.obsidian_context_tag)).collect();
    tagged.sort_by(|a, b| b.changed_at.cmp(&a.changed_at).then_with(|| a.path.cmp(&b.path)));
    injected.extend(tagged.iter().map(|note| note.id));
    let mut seen = std::collections::HashSet::new();
    injected.retain(|id| seen.insert(*id));
    injected
}

/// Names in the settings that match no note, or more than one.
pub fn unknown_names(notes: &[KnownNote], settings: &Memory) -> Vec<String> {
    let names = settings.obsidian_context_notes.iter();
    names.filter(|name| named(notes, name).is_none()).cloned().collect()
}

/// Finds a note by its path, or by its file name if only one note has that name.
fn named<'a>(notes: &'a [KnownNote], name: &str) -> Option<&'a KnownNote> {
    let name = without_extension(name.trim().trim_start_matches("./").trim_start_matches('/'));
    let by_path = notes.iter().find(|note| without_extension(&note.path) == name);
    by_path.or_else(|| {
        let mut same = notes.iter().filter(|note| {
            let own = note.path.rsplit('/').next().unwrap_or(&note.path);
            without_extension(own) == name
        });
        same.next().filter(|_| same.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use remora_core::time::Time;

    use super::*;

    #[test]
    fn a_note_is_found_by_path_or_by_a_unique_name() {
        let note = |id: i64, path: &str, tags: &[&str]| KnownNote {
            id: NoteId(id),
            path: path.to_owned(),
            stamp: String::new(),
            tags: tags.iter().map(ToString::to_string).collect(),
            changed_at: Time(id),
        };
        let notes = [
            note(1, "a/Plan.md", &[]),
            note(2, "b/Plan.md", &["Remora/x"]),
            note(3, "計画.md", &[]),
            note(4, "a/Only.md", &["remora"]),
        ];
        let injected = |names: &[&str], tag: &str| {
            let settings = Memory {
                obsidian_context_notes: names.iter().map(ToString::to_string).collect(),
                obsidian_context_tag: tag.to_owned(),
                ..Memory::default()
            };
            always_injected(&notes, &settings).iter().map(|id| id.0).collect::<Vec<_>>()
        };
        assert_eq!(injected(&["計画", "a/Plan.md", "/b/Plan", "Plan", "Only", "none"], ""), [3, 1, 2, 4]);
        assert_eq!(injected(&["a/Only.md"], "remora"), [4, 2], "each once, the latest of the tagged first");
        assert_eq!(injected(&[], ""), [0; 0]);
    }
}
