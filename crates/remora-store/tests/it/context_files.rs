use remora_core::document::ProjectScope;
use remora_core::memory::ObservationType;
use remora_core::privacy::{Draft, SavedText};
use remora_core::time::Time;
use remora_store::context_files::{FileProblem, FilesAt, Forms};
use remora_store::{SaveFor, SavedBy, locate, worktree};

use crate::support::World;

#[test]
fn the_list_of_context_files_is_stored_until_it_is_cleared() {
    let world = World::new();
    let root = world.make_repository("app", None);
    let store = world.open();
    let project = store.projects().adopt(&locate(&root), Time(1)).unwrap();
    assert_eq!(store.projects().adopt(&locate(&root), Time(2)).unwrap(), project);
    assert_eq!(store.files().context_files(ProjectScope::One(project)).unwrap(), []);
    let files = [FilesAt {
        root: root.display().to_string(),
        forms: Forms { claude_md: true, ..Forms::default() },
        files: vec!["CLAUDE.md".to_owned()],
        made_folders: Vec::new(),
        problems: vec![FileProblem { path: "CLAUDE.md".to_owned(), reason: "no".to_owned() }],
    }];
    store.files().set_context_files(project, &files).unwrap();
    assert_eq!(world.open().files().context_files(ProjectScope::All).unwrap(), [(project, files.to_vec())]);
    store.files().set_context_files(project, &[]).unwrap();
    assert_eq!(world.open().files().context_files(ProjectScope::All).unwrap(), []);
}

#[test]
fn a_new_observation_changes_the_mark_and_lists_its_files() {
    let world = World::new();
    let root = world.make_repository("app", None);
    let store = world.open();
    let project = store.projects().adopt(&locate(&root), Time(1)).unwrap();
    let before = store.projects().memory_mark(project).unwrap();
    assert_eq!(store.projects().memory_mark(project).unwrap(), before);
    let note = SavedText::new(&Draft {
        text: "Totals are cents.".to_owned(),
        title: None,
        kind: ObservationType::Discovery,
        facts: Vec::new(),
        files: vec!["src/total.rs".to_owned(), "src/tax.rs".to_owned()],
    });
    store.records().save(&SaveFor::Project(project), &note.unwrap(), SavedBy::Program, Time(3)).unwrap();
    assert_ne!(store.projects().memory_mark(project).unwrap(), before);
    assert_eq!(store.files().touched(project).unwrap()[0].files, ["src/total.rs", "src/tax.rs"]);
}

#[test]
fn a_directory_belongs_to_the_working_tree_it_is_in() {
    let world = World::new();
    let root = world.make_repository("app", None).canonicalize().unwrap();
    let deep = world.make_dir("app/src/deep");
    assert_eq!(worktree(&deep), Some(root));
    assert_eq!(worktree(&world.make_dir("plain")), None);
    world.make_dir("empty/.git");
    assert_eq!(worktree(&world.path("empty")), None, "git does not take an empty directory for a repository");
    assert_eq!(worktree(&world.path("missing")), None);
}
