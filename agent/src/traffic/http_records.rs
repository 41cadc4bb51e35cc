//! `pages.arrows` and `objects.arrows`.

use std::path::Path;

use anyhow::Result;

use super::occasional::Occasional;
pub use netwarp_records::tables::objects::Row as Object;
pub use netwarp_records::tables::pages::Row as Page;
use netwarp_records::tables::{objects, pages};

/// The tables, which exist if a run has HTTP flows.
pub struct HttpRecords {
    pub pages: Occasional<pages::Rows>,
    pub objects: Occasional<objects::Rows>,
}

impl HttpRecords {
    pub fn new(dir: &Path) -> Self {
        Self {
            pages: Occasional::new(dir),
            objects: Occasional::new(dir),
        }
    }

    pub fn finish(&mut self) -> Result<()> {
        self.pages.finish()?;
        self.objects.finish()
    }
}
