//! The vectors in memory, by project. They are loaded by the first query that needs them and dropped when idle.

use remora_store::search::{VectorPartitions, VectorRow};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use remora_core::document::ProjectScope;
use remora_core::ids::{DocumentId, ProjectId};
use remora_embed::{Query, Scan, stride};
use remora_store::{Store, StoreError};
use remora_sys::memory;

/// A document with its cosine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    pub(crate) document: DocumentId,
    pub(crate) cosine: f32,
}

/// The distribution of cosines among a project's documents. A document is near if it stands out from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Background {
    pub(crate) mean: f32,
    pub(crate) deviation: f32,
}

#[derive(Debug, Default)]
pub(crate) struct Resident {
    partitions: HashMap<Option<ProjectId>, Partition>,
    epoch: Option<[u8; 8]>,
    model: String,
    /// The number of dimensions of the model's vectors.
    dimensions: usize,
}

#[derive(Debug)]
struct Partition {
    dimensions: usize,
    documents: Vec<DocumentId>,
    scales: Vec<f32>,
    /// All vectors in sequence, each padded for the scan.
    values: Vec<i8>,
    /// Whether the documents are sorted by id. They are, unless some vectors were made again.
    is_sorted: bool,
    /// The newest vector that was read from the store.
    last: Option<i64>,
    used: Instant,
}

/// Size of the sample that the background is computed from.
const SAMPLE: usize = 512;

impl Resident {
    /// Loads or updates the vectors that the scope needs, for this model and number of dimensions.
    pub(crate) fn load(
        &mut self,
        store: &Store,
        scope: ProjectScope,
        model: &str,
        dimensions: usize,
    ) -> Result<(), StoreError> {
        let VectorPartitions { epoch, projects } = store.index().vectors(scope)?;
        if self.epoch != Some(epoch) || self.model != model || self.dimensions != dimensions {
            self.partitions.clear();
            self.epoch = Some(epoch);
            self.dimensions = dimensions;
            model.clone_into(&mut self.model);
        }
        for project in projects {
            let partition = self.partitions.entry(project).or_insert_with(|| Partition::new(dimensions));
            partition.refresh(store, project, model)?;
        }
        Ok(())
    }

    /// Updates the vectors that the scope needs, if any are loaded. The next query most likely uses the same model.
    pub(crate) fn refresh(&mut self, store: &Store, scope: ProjectScope) -> Result<(), StoreError> {
        if self.partitions.is_empty() {
            return Ok(());
        }
        let (model, dimensions) = (self.model.clone(), self.dimensions);
        self.load(store, scope, &model, dimensions)
    }

    /// Whether the loaded vectors were made by this model.
    pub(crate) fn holds(&self, model: &str, dimensions: usize) -> bool {
        !self.partitions.is_empty() && self.model == model && self.dimensions == dimensions
    }

    /// Drops vectors that no query has used recently.
    pub(crate) fn unload_idle(&mut self, idle: Duration) {
        self.partitions.retain(|_, partition| partition.used.elapsed() < idle);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.partitions.values().map(Partition::bytes).sum()
    }

    fn in_scope(&self, scope: ProjectScope) -> impl Iterator<Item = &Partition> {
        self.partitions.iter().filter_map(move |(project, partition)| {
            let belongs = match scope {
                ProjectScope::All => true,
                ProjectScope::One(one) => project.is_none_or(|project| project == one),
            };
            belongs.then_some(partition)
        })
    }

    /// The nearest documents, best first.
    pub(crate) fn nearest(&self, scope: ProjectScope, query: &[f32], most: usize) -> Vec<Near> {
        let query = Query::new(query);
        let mut all = Vec::new();
        for partition in self.in_scope(scope) {
            // Starting a thread costs more than a few thousand comparisons.
            let threads = if partition.documents.len() > 20_000 { 2 } else { 1 };
            let scan = Scan {
                query: &query,
                values: &partition.values,
                scales: &partition.scales,
                count: most,
                threads,
            };
            let found = scan.best(|_| true);
            all.extend(
                found
                    .into_iter()
                    .map(|hit| Near { document: partition.documents[hit.index], cosine: hit.score }),
            );
        }
        best(all, most)
    }

    /// The nearest of these documents, best first.
    pub(crate) fn nearest_of(
        &self,
        scope: ProjectScope,
        query: &[f32],
        most: usize,
        documents: &[DocumentId],
    ) -> Vec<Near> {
        best(self.cosines(scope, query, documents), most)
    }

    /// The cosines of those of these documents that have a vector.
    pub(crate) fn cosines(&self, scope: ProjectScope, query: &[f32], documents: &[DocumentId]) -> Vec<Near> {
        let query = Query::new(query);
        let wanted = Ids::new(documents);
        let mut found = Vec::with_capacity(documents.len());
        for partition in self.in_scope(scope) {
            // For a few documents, lookups are faster than a scan.
            if partition.is_sorted && documents.len() < partition.documents.len() / 16 {
                found.extend(documents.iter().filter_map(|document| {
                    let index = partition.documents.binary_search(document).ok()?;
                    Some(Near { document: *document, cosine: partition.cosine(&query, index) })
                }));
                continue;
            }
            for (index, document) in partition.documents.iter().enumerate() {
                if wanted.contains(*document) {
                    found.push(Near { document: *document, cosine: partition.cosine(&query, index) });
                }
            }
        }
        found
    }

    /// The distribution of cosines over a sample. Most of those documents are unrelated to the query.
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    pub(crate) fn background(&self, scope: ProjectScope, query: &[f32]) -> Option<Background> {
        let query = Query::new(query);
        let count: usize = self.in_scope(scope).map(|partition| partition.documents.len()).sum();
        let step = count.div_ceil(SAMPLE).max(1);
        let mut sample = Vec::with_capacity(SAMPLE);
        for partition in self.in_scope(scope) {
            sample.extend(
                (0..partition.documents.len()).step_by(step).map(|index| partition.cosine(&query, index)),
            );
        }
        if sample.is_empty() {
            return None;
        }
        let mean = sample.iter().sum::<f32>() / sample.len() as f32;
        let variance = sample.iter().map(|cosine| (cosine - mean).powi(2)).sum::<f32>() / sample.len() as f32;
        Some(Background { mean, deviation: variance.sqrt() })
    }
}

fn best(mut all: Vec<Near>, most: usize) -> Vec<Near> {
    all.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(b.document.cmp(&a.document)));
    all.truncate(most);
    all
}

/// A set of document ids as a bitmap, because it is tested for every vector in memory.
struct Ids(Vec<u64>);

impl Ids {
    fn new(documents: &[DocumentId]) -> Self {
        let last = documents.iter().map(|document| document.0).max().unwrap_or_default();
        let mut bits = vec![0; usize::try_from(last / 64).unwrap_or_default() + 1];
        for document in documents {
            if let Some(word) = usize::try_from(document.0 / 64).ok().and_then(|at| bits.get_mut(at)) {
                *word |= 1 << (document.0 % 64);
            }
        }
        Self(bits)
    }

    fn contains(&self, document: DocumentId) -> bool {
        let word = usize::try_from(document.0 / 64).ok().and_then(|at| self.0.get(at));
        word.is_some_and(|word| word & (1 << (document.0 % 64)) != 0)
    }
}

impl Partition {
    fn new(dimensions: usize) -> Self {
        let (documents, scales, values) = (Vec::new(), Vec::new(), Vec::new());
        Self { dimensions, documents, scales, values, is_sorted: true, last: None, used: Instant::now() }
    }

    fn refresh(&mut self, store: &Store, project: Option<ProjectId>, model: &str) -> Result<(), StoreError> {
        self.used = Instant::now();
        let known = self.last;
        let mut add = |row: VectorRow<'_>| {
            let (document, scale, bytes) = match row {
                VectorRow::AtMost(number) => return self.reserve(number),
                VectorRow::Vector { document, scale, value } => (document, scale, value),
            };
            // Wrong length for this model: corrupt, so it is skipped.
            if bytes.len() != self.dimensions {
                return;
            }
            if self.documents.len() == self.documents.capacity() {
                self.reserve(self.documents.len() / 16 + 256);
            }
            self.is_sorted &= self.documents.last().is_none_or(|last| *last < document);
            self.documents.push(document);
            self.scales.push(scale);
            self.values.extend(bytes.iter().map(|byte| byte.cast_signed()));
            self.values.resize(self.documents.len() * stride(self.dimensions), 0);
        };
        let last = store.index().each_vector(project, model, known, &mut add)?;
        self.last = Some(last);
        Ok(())
    }

    /// Reserves exactly this much. Growth by doubling would waste up to half of the memory.
    fn reserve(&mut self, more: usize) {
        self.documents.reserve_exact(more);
        self.scales.reserve_exact(more);
        self.values.reserve_exact(more * stride(self.dimensions));
        memory::prefer_large_pages(&mut self.values);
    }

    fn cosine(&self, query: &Query, index: usize) -> f32 {
        let stride = stride(self.dimensions);
        query.score(&self.values[index * stride..][..stride], self.scales[index])
    }

    fn bytes(&self) -> usize {
        self.documents.capacity() * (size_of::<DocumentId>() + size_of::<f32>() + stride(self.dimensions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_and_scan_find_the_same_documents() {
        let dimensions = 4;
        let mut partition = Partition::new(dimensions);
        for number in 0..200_i16 {
            partition.documents.push(DocumentId(i64::from(number) * 3));
            partition.scales.push(1.0 / (f32::from(number) + 1.0));
            let values = [number % 7, number % 5, number % 3, 1];
            partition.values.extend(values.map(|value| i8::try_from(value).unwrap()));
            partition.values.resize(partition.documents.len() * stride(dimensions), 0);
        }
        let mut resident = Resident { partitions: HashMap::from([(None, partition)]), ..Resident::default() };
        let wanted = [DocumentId(0), DocumentId(30), DocumentId(31), DocumentId(597), DocumentId(9_000)];
        let query = [0.5, 0.25, -0.5, 1.0];
        let in_order = resident.nearest_of(ProjectScope::All, &query, 10, &wanted);
        assert_eq!(in_order.len(), 3);
        resident.partitions.get_mut(&None).unwrap().is_sorted = false;
        assert_eq!(resident.nearest_of(ProjectScope::All, &query, 10, &wanted), in_order);
    }
}
