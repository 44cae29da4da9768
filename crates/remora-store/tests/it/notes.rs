use remora_core::document::{ProjectScope, RecordId, RecordKind};
use remora_core::ids::{DocumentId, NoteId};
use remora_core::privacy::VaultNote;
use remora_core::time::Time;
use remora_store::Store;
use remora_store::backup::integrity_problems;
use remora_store::notes::{NewNote, NotesState};
use remora_store::search::{DocumentKeys, DocumentsWith, Embedded, VectorsWanted};

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
    let count = i64::try_from(store.index().count(DocumentsWith::Anything).unwrap()).unwrap();
    let rows = store.index().documents(&(1..=count).map(DocumentId).collect::<Vec<_>>()).unwrap();
    rows.into_iter().map(|row| (row.id.0, row.body)).collect()
}

#[test]
fn a_note_that_was_only_touched_keeps_its_vectors_and_a_changed_one_does_not() {
    let world = World::new();
    let mut store = world.open();
    let notes = [new("a.md", "1", "One.\n# Two\nMore."), new("b.md", "1", "Other.")];
    let wanted = VectorsWanted { model: "m", of_turns: true };
    store.index().to_embed(wanted, 0).unwrap();
    store.notes().put(&notes).unwrap();
    let embed = |store: &mut Store| {
        let made = store.index().to_embed(wanted, 10).unwrap().into_iter();
        let made: Vec<Embedded> = made.map(|of| Embedded { of, scale: 1.0, values: vec![0; 384] }).collect();
        store.index().put_vectors("m", &made).unwrap();
        made.len()
    };
    assert_eq!(embed(&mut store), 2);
    let before = documents(&store);
    store.notes().put(&[new("a.md", "2", "One.\n# Two\nMore.")]).unwrap();
    assert_eq!((documents(&store), embed(&mut store)), (before, 0));
    assert!(store.notes().known().unwrap().iter().any(|note| note.path == "a.md" && note.stamp == "2"));
    store.notes().put(&[new("a.md", "3", "Three.")]).unwrap();
    assert_eq!(embed(&mut store), 1);
    let state = store.index().state(ProjectScope::All).unwrap();
    assert_eq!((state.records, state.indexed), (2, 2));
    // Derived data can be deleted and rebuilt.
    store.index().drop_documents(ProjectScope::All).unwrap();
    while store.index().fill().unwrap() {}
    assert_eq!(documents(&store).len(), 2);
    let b = store.notes().known().unwrap().iter().find(|note| note.path == "b.md").unwrap().id;
    store.notes().remove(&[b, NoteId(99)]).unwrap();
    assert_eq!(documents(&store).len(), 1);
    assert_eq!(
        store
            .index()
            .documents(DocumentKeys::Part {
                record: RecordId { kind: RecordKind::Note, number: b.0 },
                part: "section_1"
            })
            .unwrap(),
        []
    );
    assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
}

#[test]
fn always_injected_notes_exclude_missing_and_empty_ones() {
    let world = World::new();
    let store = world.open();
    assert_eq!(store.notes().always_injected(None).unwrap(), []);
    assert_eq!(store.notes().state().unwrap(), NotesState::default());
    store.notes().put(&[new("a.md", "1", "One."), new("b.md", "1", "<private>x</private>")]).unwrap();
    let ids: Vec<NoteId> = store.notes().known().unwrap().iter().map(|note| note.id).collect();
    store.notes().set_always_injected(&[ids.clone(), vec![NoteId(99)]].concat()).unwrap();
    let injected = store.notes().always_injected(None).unwrap();
    assert_eq!((injected.len(), injected[0].text.as_str()), (1, "One."));
    let state = NotesState { source: "x".into(), problem: Some("gone".into()), ..NotesState::default() };
    store.notes().set_state(&state).unwrap();
    assert_eq!(store.notes().state().unwrap(), state);
}

#[test]
fn notes_of_two_vaults_keep_their_ids_and_a_removed_note_keeps_no_text() {
    let world = World::new();
    let store = world.open();
    let of = |vault: &str| NewNote { vault: vault.to_owned(), ..new("a.md", "1", &format!("From {vault}.")) };
    let ids = |store: &Store| -> Vec<NoteId> {
        store.notes().known().unwrap().iter().map(|note| note.id).collect()
    };
    store.notes().put(&[of("/home"), of("/work")]).unwrap();
    let [home, work] = ids(&store)[..] else { panic!() };
    assert_eq!(store.notes().get(work).unwrap().unwrap().text, "From /work.");
    store.notes().remove(&[home]).unwrap();
    assert_eq!((ids(&store), documents(&store).len()), (vec![work], 1));
    assert_eq!(store.notes().get(home).unwrap(), None);
    store.index().drop_documents(ProjectScope::All).unwrap();
    while store.index().fill().unwrap() {}
    assert_eq!(documents(&store).len(), 1);
    let left: String =
        world.text("SELECT title || tags || excerpt || text FROM notes WHERE deleted_at IS NOT NULL");
    assert_eq!(left, "[]");
    // The vault comes back.
    store.notes().put(&[of("/home")]).unwrap();
    assert_eq!(ids(&store), [home, work]);
    assert_eq!(store.notes().get(home).unwrap().unwrap().text, "From /home.");
    assert_eq!(documents(&store).len(), 2);
    assert_eq!(integrity_problems(&store.dir().database()).unwrap(), [""; 0]);
}
