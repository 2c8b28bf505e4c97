BEGIN TRANSACTION;
CREATE TABLE access_keys (
	key_id VARCHAR(32) NOT NULL, 
	name TEXT NOT NULL, 
	scope VARCHAR(20) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	created_at DATETIME NOT NULL, 
	book_id VARCHAR(200) NOT NULL, 
	origins JSON NOT NULL, 
	daily INTEGER, 
	expires_at DATETIME, 
	revoked_at DATETIME, 
	PRIMARY KEY (key_id)
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0005');
CREATE TABLE books (
	book_id VARCHAR(200) NOT NULL, 
	title TEXT NOT NULL, 
	base_url TEXT NOT NULL, 
	source TEXT NOT NULL, 
	toolchain VARCHAR(50) NOT NULL, 
	PRIMARY KEY (book_id)
);
INSERT INTO "books" VALUES('book','book','','books/topics','plain');
CREATE TABLE conversations (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	session_id VARCHAR(36) NOT NULL, 
	timestamp DATETIME NOT NULL, 
	"query" TEXT NOT NULL, 
	response TEXT NOT NULL, 
	sources JSON NOT NULL, 
	metadata JSON NOT NULL, 
	created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL, 
	FOREIGN KEY(session_id) REFERENCES sessions (session_id) ON DELETE CASCADE
);
INSERT INTO "conversations" VALUES(1,'6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10','2026-01-01 00:00:15.000000','Which durability keeps the last message for late subscribers?','Transient local durability keeps the last message for late subscribers. [1] Volatile durability keeps nothing. [1]','[{"index":1,"source_url":"topics.md#durability","title":"Topics","section":"Durability","chunk_position":1,"similarity_score":0.8599,"snippet":"## Durability Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.","chunk_id":"f227c559-2eb4-5575-8d37-35e21cb2396f","breadcrumb":["Topics","Durability"],"quote":"Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.","start":83,"end":189,"source_file":"topics.md","line":7}]','{"query_time_ms":6000.0,"retrieval_count":3,"mode":"extractive","low_confidence":false,"disclaimer":null,"interrupted":false,"request_id":"00000000-0000-4000-8000-000000000000","book_id":"book","searched_query":"Which durability keeps the last message for late subscribers?","suggestions":[],"missing_terms":[],"stage_ms":{"retrieve":1000.0,"judge":1000.0,"answer":1000.0,"check":1000.0},"confidence":0.9707,"fallback_message":null,"unsupported":[]}','2026-11-16 15:46:00');
INSERT INTO "conversations" VALUES(2,'6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10','2026-01-01 00:00:22.000000','Who won the football championship in 1966?','I don''t have information about that in the book content','[]','{"query_time_ms":6000.0,"retrieval_count":3,"mode":"no_results","low_confidence":false,"disclaimer":null,"interrupted":false,"request_id":"00000000-0000-4000-8000-000000000001","book_id":"book","searched_query":"Who won the football championship in 1966?","suggestions":[{"title":"Timing","source_url":"topics.md#timing","breadcrumb":["Topics","Timing"]},{"title":"Durability","source_url":"topics.md#durability","breadcrumb":["Topics","Durability"]},{"title":"Topics","source_url":"topics.md","breadcrumb":["Topics"]}],"missing_terms":["won","football","championship","1966"],"stage_ms":{"retrieve":1000.0,"judge":1000.0,"answer":1000.0,"check":1000.0},"confidence":0.0,"fallback_message":null,"unsupported":[]}','2026-11-16 15:46:00');
INSERT INTO "conversations" VALUES(3,'6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10','2026-01-01 00:00:29.000000','What does volatile durability keep?','Volatile durability keeps nothing. [1]','[{"source_type":"selected_text","index":1,"selection_length":54,"snippet":"Durability matters. Volatile durability keeps nothing.","relevance_note":"The answer quotes this part of the selection.","quote":"Volatile durability keeps nothing.","start":20,"end":54}]','{"query_time_ms":6000.0,"retrieval_count":0,"mode":"selected_text","low_confidence":false,"disclaimer":null,"interrupted":false,"request_id":"00000000-0000-4000-8000-000000000002","book_id":"book","searched_query":"What does volatile durability keep?","suggestions":[],"missing_terms":[],"stage_ms":{"retrieve":1000.0,"judge":1000.0,"answer":1000.0,"check":1000.0},"confidence":1.0,"fallback_message":null,"unsupported":[]}','2026-11-16 15:46:00');
INSERT INTO "conversations" VALUES(4,'6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10','2026-01-01 00:00:37.000000','Which durability keeps the last message for late subscribers?','Transient local durability keeps the last message for late subscribers. [1] It was invented in Atlantis in 1912. [1]','[{"index":1,"source_url":"topics.md#durability","title":"Topics","section":"Durability","chunk_position":1,"similarity_score":0.8599,"snippet":"## Durability Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.","chunk_id":"f227c559-2eb4-5575-8d37-35e21cb2396f","breadcrumb":["Topics","Durability"],"quote":"Transient local durability keeps the last message for late subscribers.","start":83,"end":154,"source_file":"topics.md","line":7}]','{"query_time_ms":6000.0,"retrieval_count":3,"mode":"full","low_confidence":false,"disclaimer":null,"interrupted":false,"request_id":"00000000-0000-4000-8000-000000000000","book_id":"book","searched_query":"Which durability keeps the last message for late subscribers?","suggestions":[],"missing_terms":[],"stage_ms":{"retrieve":1000.0,"judge":1000.0,"answer":1000.0,"check":1000.0},"confidence":0.9707,"fallback_message":null,"unsupported":[{"text":"It was invented in Atlantis in 1912. [1]","reason":"1912 is not in the source"}]}','2026-11-16 15:46:00');
INSERT INTO "conversations" VALUES(5,'6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10','2026-01-01 00:00:44.000000','Which durability keeps the last message for late subscribers?','Transient local ','[]','{"query_time_ms":5000.0,"retrieval_count":3,"mode":"full","low_confidence":false,"disclaimer":null,"interrupted":true,"request_id":"00000000-0000-4000-8000-000000000000","book_id":"book","searched_query":"Which durability keeps the last message for late subscribers?","suggestions":[],"missing_terms":[],"stage_ms":{"retrieve":1000.0,"judge":1000.0,"check":1000.0},"confidence":0.9707,"fallback_message":null,"unsupported":[{"text":"Transient local","reason":"no source is named, and none says this"}]}','2026-11-16 15:46:00');
INSERT INTO "conversations" VALUES(6,'6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10','2026-01-01 00:00:51.000000','Which durability keeps the last message for late subscribers?','','[{"index":1,"source_url":"topics.md#durability","title":"Topics","section":"Durability","chunk_position":1,"similarity_score":0.8599,"snippet":"## Durability Transient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.","chunk_id":"f227c559-2eb4-5575-8d37-35e21cb2396f","breadcrumb":["Topics","Durability"],"quote":"## Durability\n\nTransient local durability keeps the last message for late subscribers. Volatile durability keeps nothing.","start":68,"end":189,"source_file":"topics.md","line":5},{"index":2,"source_url":"topics.md","title":"Topics","section":"Topics","chunk_position":0,"similarity_score":0.0076,"snippet":"# Topics A topic carries messages from publishers to subscribers.","chunk_id":"41de62f3-b270-5437-b868-516fc960c3b2","breadcrumb":["Topics"],"quote":"# Topics\n\nA topic carries messages from publishers to subscribers.","start":0,"end":66,"source_file":"topics.md","line":1},{"index":3,"source_url":"topics.md#timing","title":"Topics","section":"Timing","chunk_position":2,"similarity_score":0.0029,"snippet":"## Timing The deadline policy names the longest time between two messages.","chunk_id":"01c9e35f-7d9f-5bc8-9019-4a19bdd1af92","breadcrumb":["Topics","Timing"],"quote":"## Timing\n\nThe deadline policy names the longest time between two messages.","start":191,"end":266,"source_file":"topics.md","line":9}]','{"query_time_ms":6000.0,"retrieval_count":3,"mode":"retrieval_only","low_confidence":false,"disclaimer":null,"interrupted":false,"request_id":"00000000-0000-4000-8000-000000000000","book_id":"book","searched_query":"Which durability keeps the last message for late subscribers?","suggestions":[],"missing_terms":[],"stage_ms":{"retrieve":1000.0,"judge":1000.0,"answer":1000.0,"check":1000.0},"confidence":0.9707,"fallback_message":"The language model could not be reached; these are the passages of the book that fit the question best.","unsupported":[]}','2026-11-16 15:46:00');
CREATE TABLE ingestion_jobs (
	job_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	book_id VARCHAR(200) NOT NULL, 
	mode VARCHAR(20) NOT NULL, 
	status VARCHAR(20) NOT NULL, 
	files_discovered INTEGER NOT NULL, 
	files_processed INTEGER NOT NULL, 
	files_skipped INTEGER NOT NULL, 
	files_failed INTEGER NOT NULL, 
	files_deleted INTEGER NOT NULL, 
	chunks_created INTEGER NOT NULL, 
	chunks_kept INTEGER NOT NULL, 
	chunks_deleted INTEGER NOT NULL, 
	chunks_embedded INTEGER NOT NULL, 
	dry_run BOOLEAN NOT NULL, 
	started_at DATETIME, 
	completed_at DATETIME, 
	duration_seconds FLOAT, 
	error_message TEXT, 
	notices JSON NOT NULL
);
INSERT INTO "ingestion_jobs" VALUES(1,'book','incremental','completed',1,1,0,0,0,3,0,0,3,0,'2026-01-01 00:00:01.000000','2026-01-01 00:00:09.000000',8.0,NULL,'[{"code":"FRONT_MATTER_DEFAULT","message":"no page names a hardware tier, proficiency or layer; tier 1, A2 and L1 are taken for all","source_file":".","line":null,"fatal":false}]');
CREATE TABLE key_spending (
	key_id VARCHAR(32) NOT NULL, 
	day DATE NOT NULL, 
	answers INTEGER NOT NULL, 
	PRIMARY KEY (key_id, day), 
	FOREIGN KEY(key_id) REFERENCES access_keys (key_id) ON DELETE CASCADE
);
CREATE TABLE page_records (
	book_id VARCHAR(200) NOT NULL, 
	source_file TEXT NOT NULL, 
	digest VARCHAR(128) NOT NULL, 
	file_hash VARCHAR(128) NOT NULL, 
	chunk_ids JSON NOT NULL, 
	ingested_at DATETIME NOT NULL, 
	title TEXT NOT NULL, 
	url TEXT NOT NULL, 
	module TEXT, 
	chapter INTEGER, 
	lesson INTEGER, 
	PRIMARY KEY (book_id, source_file)
);
INSERT INTO "page_records" VALUES('book','topics.md','20c3b2cec6248a642dcd1ef67becc29d8854a2ca05a5b04b8ac1e3075d7463e5','0c0c3a3bf2e25cc0208b793728deead7ca39d7feae8d9675c20a5561f7a0c70c','["41de62f3-b270-5437-b868-516fc960c3b2","f227c559-2eb4-5575-8d37-35e21cb2396f","01c9e35f-7d9f-5bc8-9019-4a19bdd1af92"]','2026-01-01 00:00:06.000000','Topics','topics.md',NULL,NULL,NULL);
CREATE TABLE recorded_questions (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	book_id VARCHAR(200) NOT NULL, 
	asked_at DATETIME NOT NULL, 
	question TEXT NOT NULL, 
	searched TEXT NOT NULL, 
	level VARCHAR(20) NOT NULL, 
	confidence FLOAT NOT NULL, 
	missing_terms JSON NOT NULL, 
	nearest JSON NOT NULL, 
	nearest_url TEXT NOT NULL
);
CREATE TABLE sessions (
	session_id VARCHAR(36) NOT NULL, 
	created_at DATETIME NOT NULL, 
	last_active DATETIME NOT NULL, owner VARCHAR(200) DEFAULT '' NOT NULL, topic_summary TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (session_id)
);
INSERT INTO "sessions" VALUES('6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10','2026-01-01 00:00:15.000000','2026-01-01 00:00:51.000000','','');
CREATE TABLE traces (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	request_id VARCHAR(36) NOT NULL, 
	session_id VARCHAR(36) NOT NULL, 
	book_id VARCHAR(200) NOT NULL, 
	created_at DATETIME NOT NULL, 
	record JSON NOT NULL, 
	FOREIGN KEY(session_id) REFERENCES sessions (session_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX one_active_job_per_book ON ingestion_jobs (book_id) WHERE status IN ('queued', 'running');
CREATE INDEX idx_ingestion_jobs_book ON ingestion_jobs (book_id, job_id);
CREATE INDEX idx_conversations_session ON conversations (session_id, id);
CREATE INDEX idx_conversations_timestamp ON conversations (timestamp);
CREATE INDEX idx_recorded_questions_book ON recorded_questions (book_id, asked_at);
CREATE INDEX idx_recorded_questions_asked ON recorded_questions (asked_at);
CREATE INDEX idx_traces_request ON traces (request_id);
CREATE INDEX idx_traces_session ON traces (session_id);
CREATE INDEX idx_traces_created ON traces (created_at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('ingestion_jobs',1);
INSERT INTO "sqlite_sequence" VALUES('conversations',6);
INSERT INTO "sqlite_sequence" VALUES('traces',5);
COMMIT;
