use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::{DocumentId, NoteId};
use remora_core::privacy::VaultNote;
use remora_core::time::Time;
use remora_store::Store;
use remora_store::notes::{NewNote, NotesState};
use remora_store::search::Embedded;

use crate::support::World;

fn new(path: &str, stamp: &str, text: &str) -> NewNote {
    NewNote {
        vault: "/vault".to_owned(),
        note: VaultNote::new(path, text),
        stamp: stamp.to_owned(),
        changed_at: Time(1),
    }
}

/// All documents, by id and text.
fn documents(store: &Store) -> Vec<(i64, String)> {
    let count = i64::try_from(store.about_documents().unwrap()).unwrap();
    let rows = store.documents(&(1..=count).map(DocumentId).collect::<Vec<_>>()).unwrap();
    rows.into_iter().map(|row| (row.id.0, row.body)).collect()
}

#[test]
fn a_note_that_was_only_touched_keeps_its_vectors_and_a_changed_one_does_not() {
    let world = World::new();
    let mut store = world.open();
    let notes = [new("a.md", "1", "One.\n# Two\nMore."), new("b.md", "1", "Other.")];
    store.use_embedding_model("m").unwrap();
    store.put_notes(&notes).unwrap();
    let embed = |store: &mut Store| {
        let made = store.to_embed(10).unwrap().into_iter();
        let made: Vec<Embedded> = made.map(|of| Embedded { of, scale: 1.0, values: vec![0; 384] }).collect();
        store.put_vectors("m", &made).unwrap();
        made.len()
    };
    assert_eq!(embed(&mut store), 2);
    let before = documents(&store);
    store.put_notes(&[new("a.md", "2", "One.\n# Two\nMore.")]).unwrap();
    assert_eq!((documents(&store), embed(&mut store)), (before, 0));
    assert!(store.known_notes().unwrap().iter().any(|note| note.path == "a.md" && note.stamp == "2"));
    store.put_notes(&[new("a.md", "3", "Three.")]).unwrap();
    assert_eq!(embed(&mut store), 1);
    let state = store.index_state(remora_core::document::ProjectScope::All).unwrap();
    assert_eq!((state.records, state.indexed), (2, 2));
    // Derived data can be deleted and rebuilt.
    store.clear_documents().unwrap();
    while store.fill_documents().unwrap() {}
    assert_eq!(documents(&store).len(), 2);
    let b = store.known_notes().unwrap().iter().find(|note| note.path == "b.md").unwrap().id;
    store.remove_notes(&[b, NoteId(99)]).unwrap();
    assert_eq!(documents(&store).len(), 1);
    assert_eq!(store.part_text(RecordId { kind: RecordKind::Note, number: b.0 }, "section_1").unwrap(), None);
    assert_eq!(store.integrity_problems().unwrap(), [""; 0]);
}

#[test]
fn always_injected_notes_exclude_missing_and_empty_ones() {
    let world = World::new();
    let mut store = world.open();
    assert_eq!(store.always_injected().unwrap(), []);
    assert_eq!(store.notes_state().unwrap(), NotesState::default());
    store.put_notes(&[new("a.md", "1", "One."), new("b.md", "1", "<private>x</private>")]).unwrap();
    let ids: Vec<NoteId> = store.known_notes().unwrap().iter().map(|note| note.id).collect();
    store.set_always_injected(&[ids.clone(), vec![NoteId(99)]].concat()).unwrap();
    let injected = store.always_injected().unwrap();
    assert_eq!((injected.len(), injected[0].text.as_str()), (1, "One."));
    let state = NotesState { source: "x".into(), problem: Some("gone".into()), ..NotesState::default() };
    store.set_notes_state(&state).unwrap();
    assert_eq!(store.notes_state().unwrap(), state);
}

#[test]
fn notes_of_two_vaults_keep_their_ids_and_a_removed_note_keeps_no_text() {
    let world = World::new();
    let mut store = world.open();
    let of = |vault: &str| NewNote { vault: vault.to_owned(), ..new("a.md", "1", &format!("From {vault}.")) };
    let ids =
        |store: &Store| -> Vec<NoteId> { store.known_notes().unwrap().iter().map(|note| note.id).collect() };
    store.put_notes(&[of("/home"), of("/work")]).unwrap();
    let [home, work] = ids(&store)[..] else { panic!() };
    assert_eq!(store.note(work).unwrap().unwrap().text, "From /work.");
    store.remove_notes(&[home]).unwrap();
    assert_eq!((ids(&store), documents(&store).len()), (vec![work], 1));
    assert_eq!(store.note(home).unwrap(), None);
    store.clear_documents().unwrap();
    while store.fill_documents().unwrap() {}
    assert_eq!(documents(&store).len(), 1);
    let left: String =
        world.text("SELECT title || tags || excerpt || text FROM notes WHERE deleted_at IS NOT NULL");
    assert_eq!(left, "[]");
    // The vault comes back.
    store.put_notes(&[of("/home")]).unwrap();
    assert_eq!(ids(&store), [home, work]);
    assert_eq!(store.note(home).unwrap().unwrap().text, "From /home.");
    assert_eq!(documents(&store).len(), 2);
    assert_eq!(store.integrity_problems().unwrap(), [""; 0]);
}
