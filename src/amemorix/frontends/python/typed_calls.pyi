# Made from the table of operations; edit that, then run `scripts/generate`.
# fmt: off
# One overload for each operation; the last is for a component whose name is known at run time only.
from collections.abc import Mapping
from typing import Any, Literal, Unpack, overload

from ... import operation_types as records

class TypedCalls:
    @overload
    def call(self, component: Literal['embed_texts'], /, **arguments: Unpack[records.EmbedTexts]) -> records.Embedded:
        """Embed texts with the model whose vectors the memory searches by; nothing is stored."""
    @overload
    def call(self, component: Literal['enqueue_feedback_task'], /, **arguments: Unpack[records.EnqueueFeedback]) -> records.FeedbackQueued:
        """Remember an answer, to learn later from what the chat said of it; durable when it returns."""
    @overload
    def call(self, component: Literal['get_context'], /, **arguments: Unpack[records.GetContext]) -> records.Context:
        """Tell who is there, what is held true, what was said and what is planned, as text for a prompt within a budget."""
    @overload
    def call(self, component: Literal['get_person_profile'], /, **arguments: Unpack[records.GetPersonProfile]) -> records.PersonProfile:
        """Tell what is known of a person, with the evidence, as far as the asking chat may see it; asks no model."""
    @overload
    def call(self, component: Literal['ingest_messages'], /, **arguments: Unpack[records.IngestMessages]) -> records.MessagesResult:
        """Store chat turns in one transaction; durable when it returns."""
    @overload
    def call(self, component: Literal['ingest_summary'], /, **arguments: Unpack[records.IngestSummary]) -> records.IngestResult:
        """Store the summary of a stretch of chat, or have one written in the background; durable when it returns."""
    @overload
    def call(self, component: Literal['ingest_text'], /, **arguments: Unpack[records.IngestText]) -> records.IngestResult:
        """Store a text with its persons, entities and relations; durable when it returns."""
    @overload
    def call(self, component: Literal['ingest_texts'], /, **arguments: Unpack[records.IngestTexts]) -> records.TextsResult:
        """Store many texts in one transaction; durable when it returns."""
    @overload
    def call(self, component: Literal['maintain_memory'], /, *, action: Literal['recycle_bin'], **arguments: Unpack[records.ListBin]) -> records.Bin:
        """List what was forgotten, has faded or has expired, and can be restored."""
    @overload
    def call(self, component: Literal['maintain_memory'], /, *, action: Literal['restore'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Bring memories back from rest or from the recycle bin, whole."""
    @overload
    def call(self, component: Literal['maintain_memory'], /, *, action: Literal['reinforce'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Reinforce memories with strength 1, and protect them for a day."""
    @overload
    def call(self, component: Literal['maintain_memory'], /, *, action: Literal['protect'], **arguments: Unpack[records.Protect]) -> records.Maintained:
        """Keep memories from being put to rest, for some hours or for good."""
    @overload
    def call(self, component: Literal['maintain_memory'], /, *, action: Literal['freeze'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Put relations to rest: they leave the graph until they are restored or reinforced."""
    @overload
    def call(self, component: Literal['maintain_memory'], /, *, action: Literal['used'], **arguments: Unpack[records.Used]) -> records.Maintained:
        """Say which hits were really used: they and the relations behind them fade later, once in a while."""
    @overload
    def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['preview', 'plan'], **arguments: Unpack[records.PreviewCorrection]) -> records.CorrectionPreview:
        """Work out what a correction in words would change; nothing is changed until it is executed."""
    @overload
    def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['execute'], **arguments: Unpack[records.ExecuteCorrection]) -> records.CorrectionPlan:
        """Carry out a plan, in one transaction that can be rolled back."""
    @overload
    def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['rollback'], **arguments: Unpack[records.PlanRequest]) -> records.CorrectionPlan:
        """Undo a plan that was carried out."""
    @overload
    def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['get'], **arguments: Unpack[records.PlanRequest]) -> records.CorrectionPlan:
        """Show a plan and what became of it."""
    @overload
    def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListCorrections]) -> records.CorrectionPlans:
        """List plans, the newest first."""
    @overload
    def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['preview'], **arguments: Unpack[records.Preview]) -> records.DeletePlan:
        """Show everything that a deletion would take along; nothing is written."""
    @overload
    def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['execute'], **arguments: Unpack[records.Execute]) -> records.Executed:
        """Delete in one transaction; it can be restored until it is purged."""
    @overload
    def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['restore'], **arguments: Unpack[records.Restore]) -> records.RestoreResult:
        """Bring back a deletion, or some of its items, as they were."""
    @overload
    def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['get_operation', 'get'], **arguments: Unpack[records.GetOperation]) -> records.OperationResult:
        """Show a deletion with its items."""
    @overload
    def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['list_operations', 'list'], **arguments: Unpack[records.ListOperations]) -> records.OperationList:
        """List deletions, the newest first."""
    @overload
    def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['purge'], **arguments: Unpack[records.Purge]) -> records.PurgeResult:
        """Erase what was deleted for good, from every file, and tell what was checked."""
    @overload
    def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['get', 'show'], **arguments: Unpack[records.GetDocuments]) -> records.Documents:
        """Show documents by their ids, whole, as they were told."""
    @overload
    def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListDocuments]) -> records.DocumentPage:
        """Page through documents."""
    @overload
    def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['count'], **arguments: Unpack[records.CountDocuments]) -> records.DocumentCount:
        """Count documents."""
    @overload
    def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['set'], **arguments: Unpack[records.SetDocuments]) -> records.Described:
        """Give documents other metadata, tags, or another time to expire; what they say stays, and so does what is gone."""
    @overload
    def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['delete'], **arguments: Unpack[records.DeleteDocuments]) -> records.DeletedDocuments:
        """Delete documents in one transaction; that nothing matches is no error."""
    @overload
    def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['list', 'query'], **arguments: Unpack[records.ListEpisodes]) -> records.Episodes:
        """List episodes, by what they are about, who takes part, when they were, and where they come from."""
    @overload
    def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['get'], **arguments: Unpack[records.GetEpisode]) -> records.OneEpisode:
        """Read one episode with its paragraphs."""
    @overload
    def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['status'], **arguments: Unpack[records.EpisodeStatusRequest]) -> records.EpisodeStatus:
        """Tell how far the episodes are, and which sources failed and why."""
    @overload
    def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['rebuild'], **arguments: Unpack[records.RebuildEpisodes]) -> records.Rebuilding:
        """Make the episodes of sources anew in the background; an episode that comes out the same keeps its revision."""
    @overload
    def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['process_pending', 'process_sources'], **arguments: Unpack[records.Process]) -> records.EpisodesProcessed:
        """Make the episodes now that wait to be made, those that were given up included."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListFacts]) -> records.Facts:
        """List facts, the newest first."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['query', 'search'], **arguments: Unpack[records.QueryFacts]) -> records.Facts:
        """Find facts by words, subject, attribute, status or time."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['get', 'show'], **arguments: Unpack[records.GetFact]) -> records.FactDetail:
        """Show a fact with its evidence and every change of its status."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['conflicts'], **arguments: Unpack[records.ListConflicts]) -> records.Conflicts:
        """List contradictions that nothing has decided."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['status']) -> records.FactStatus:
        """Count facts by status and tell how current they are."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['process_pending']) -> records.FactsProcessed:
        """Read what has been stored since, without waiting for the background."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['resolve'], **arguments: Unpack[records.Resolve]) -> records.Changed:
        """Say which of contradicting facts is true; the others are superseded by it."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['add'], **arguments: Unpack[records.AddFact]) -> records.Changed:
        """Add a fact by hand; a later statement of no less authority may supersede it."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['retract'], **arguments: Unpack[records.Retract]) -> records.Changed:
        """Say that a fact was never true; the text it was read from stays."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['supersede'], **arguments: Unpack[records.Supersede]) -> records.Changed:
        """Say what is true in the place of a fact."""
    @overload
    def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['undo'], **arguments: Unpack[records.UndoFactChange]) -> records.Changed:
        """Take a change back, one made by hand or one that a newer statement made."""
    @overload
    def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListFeedback]) -> records.FeedbackTasks:
        """List feedback tasks, the newest first."""
    @overload
    def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['get'], **arguments: Unpack[records.FeedbackId]) -> records.FeedbackTaskFound:
        """Show a feedback task."""
    @overload
    def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['rollback'], **arguments: Unpack[records.RollbackFeedback]) -> records.FeedbackTaskFound:
        """Undo what a feedback task corrected."""
    @overload
    def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['status']) -> records.FeedbackStatus:
        """Count feedback tasks by status."""
    @overload
    def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['process_pending'], **arguments: Unpack[records.ProcessFeedback]) -> records.FeedbackProcessed:
        """Look at the tasks that are due now."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['get_graph', 'get', 'list'], **arguments: Unpack[records.GetGraph]) -> records.GraphPage:
        """Page through the graph, the most important nodes first."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['search'], **arguments: Unpack[records.SearchGraph]) -> records.Found:
        """Find entities and relations by name, alias or predicate."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['node_detail', 'get_node'], **arguments: Unpack[records.NodeDetail]) -> records.NodeAnswer:
        """Show a node with its relations and paragraphs."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['edge_detail', 'get_edge'], **arguments: Unpack[records.EdgeDetail]) -> records.EdgeAnswer:
        """Show the relations from one node to another, with what supports them."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['create_node'], **arguments: Unpack[records.CreateNode]) -> records.Change:
        """Make a node."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['delete_node'], **arguments: Unpack[records.DeleteNode]) -> records.Change:
        """Delete a node with its relations; `undo` brings all of them back."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['rename_node'], **arguments: Unpack[records.RenameNode]) -> records.Change:
        """Rename a node; its old name becomes an alias."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['merge_nodes'], **arguments: Unpack[records.MergeNodes]) -> records.Change:
        """Make several nodes one; their names go on to mean it."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['add_alias'], **arguments: Unpack[records.AliasEdit]) -> records.Change:
        """Let a node go by another name too."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['remove_alias'], **arguments: Unpack[records.AliasEdit]) -> records.Change:
        """Let a node no longer go by an alias."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['suggest_merges'], **arguments: Unpack[records.SuggestMerges]) -> records.MergeSuggestions:
        """Name pairs of nodes that may be one and the same."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['create_edge'], **arguments: Unpack[records.CreateEdge]) -> records.Change:
        """Make a relation, on paragraphs or by hand."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['delete_edge'], **arguments: Unpack[records.EdgeEdit]) -> records.Change:
        """Delete a relation, or all from one node to another; `undo` brings them back."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['update_edge_weight', 'set_edge_weight'], **arguments: Unpack[records.WeighEdge]) -> records.Change:
        """Say how much relations weigh in the walk of search and in the order of nodes."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['undo'], **arguments: Unpack[records.UndoGraphEdit]) -> records.Undone:
        """Undo a change: the rows are exactly as they were."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['list_undo'], **arguments: Unpack[records.ListUndo]) -> records.UndoList:
        """List the changes that can be undone."""
    @overload
    def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['export'], **arguments: Unpack[records.Export]) -> records.Exported:
        """Export the graph as GraphML or node-link JSON; a large one to a file below `exports/`."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['settings', 'get_settings', 'get_guide']) -> records.Settings:
        """Show what can be imported, how, and within which limits."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['path_aliases', 'get_path_aliases']) -> records.PathAliases:
        """Name the folders that files may be imported from."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['resolve_path', 'resolve'], **arguments: Unpack[records.ResolvePath]) -> records.ResolvedPath:
        """Say where a path leads, and what is there."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_upload'], **arguments: Unpack[records.CreateUpload]) -> records.Task:
        """Import files that were uploaded, or whose content is handed over."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_paste'], **arguments: Unpack[records.CreatePaste]) -> records.Task:
        """Import a text that is handed over."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_raw_scan'], **arguments: Unpack[records.CreateRawScan]) -> records.Task:
        """Import the files below a folder, or one file."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_lpmm_openie'], **arguments: Unpack[records.CreateLpmmOpenie]) -> records.Task:
        """Import the OpenIE files of LPMM."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_lpmm_convert'], **arguments: Unpack[records.CreateLpmmConvert]) -> records.Task:
        """Import the store of LPMM; its texts get vectors of this memory's model."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_maibot_migration'], **arguments: Unpack[records.CreateMaiBotMigration]) -> records.Task:
        """Import the chats in a database of MaiBot, which may be in use."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_temporal_backfill'], **arguments: Unpack[records.CreateBackfill]) -> records.Task:
        """Give paragraphs without a time the one that their text names, else the one when they were stored."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListImports]) -> records.Tasks:
        """List imports with their progress."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['get'], **arguments: Unpack[records.GetImport]) -> records.Task:
        """Show an import with its files."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['chunks', 'get_chunks'], **arguments: Unpack[records.GetChunks]) -> records.Chunks:
        """Show the chunks of a file, with what could not be stored and why."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['cancel'], **arguments: Unpack[records.Which]) -> records.Task:
        """End an import; what it has stored stays."""
    @overload
    def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['retry_failed'], **arguments: Unpack[records.RetryFailed]) -> records.Retried:
        """Read again the chunks that failed, and what was not read of files that failed."""
    @overload
    def call(self, component: Literal['memory_key_admin'], /, *, action: Literal['status']) -> records.KeyStatus:
        """Tell whether the memory is encrypted, with which keys, and what needs each of them."""
    @overload
    def call(self, component: Literal['memory_key_admin'], /, *, action: Literal['change'], **arguments: Unpack[records.ChangeSecret]) -> records.ChangedSecret:
        """Wrap the keys by another secret; no page is written. The settings have to name it before the next start."""
    @overload
    def call(self, component: Literal['memory_key_admin'], /, *, action: Literal['rotate']) -> records.RotatedKey:
        """Encrypt everything with a new random key while the memory is in use; backups keep theirs."""
    @overload
    def call(self, component: Literal['memory_key_admin'], /, *, action: Literal['verify']) -> records.KeyVerdict:
        """Read the database and every encrypted file from end to end."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['query'], **arguments: Unpack[records.AskProfile]) -> records.FullProfile:
        """Show all that is known of a person, from every chat."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['evidence'], **arguments: Unpack[records.AskProfile]) -> records.EvidenceList:
        """List what a profile stands on."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['correct_evidence'], **arguments: Unpack[records.CorrectEvidence]) -> records.Corrected:
        """Delete a piece of evidence that is wrong; the profile is answered without it."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['undo_evidence'], **arguments: Unpack[records.UndoEvidence]) -> records.GivenBack:
        """Give back the evidence that `correct_evidence` deleted; the profile is answered with it."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListProfiles]) -> records.Profiles:
        """List the persons of whom something was said, or written by hand."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['set_override'], **arguments: Unpack[records.SetOverride]) -> records.FullProfile:
        """Show a text in the place of a person's profile, in every chat."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['delete_override'], **arguments: Unpack[records.Who]) -> records.OverrideDeleted:
        """Show a person's derived profile again."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['history'], **arguments: Unpack[records.History]) -> records.Snapshots:
        """List what was known of a person at earlier times, without what has been deleted since."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['add_alias'], **arguments: Unpack[records.Alias]) -> records.Aliases:
        """Let a further name mean a person, in one chat or everywhere."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['remove_alias'], **arguments: Unpack[records.Alias]) -> records.Aliases:
        """Take a further name away from a person: in one chat, or wherever it counts."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['status'], **arguments: Unpack[records.ProfileStatusRequest]) -> records.ProfileStatus:
        """Tell how far profiles are behind: they are read from the facts, and nothing of them waits to be derived."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['process_pending'], **arguments: Unpack[records.ProcessProfiles]) -> records.ProfilesProcessed:
        """Read what profiles are made of out of the news, now."""
    @overload
    def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['refresh'], **arguments: Unpack[records.Who]) -> records.Refreshed:
        """Tell whether a person's profile has news to come: it is read anew whenever it is asked for."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['settle'], **arguments: Unpack[records.Settle]) -> records.Settled:
        """Wait until what was written has been read, has its vectors and is in the indexes; after so long tell what still waits."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['save']) -> records.Saved:
        """Write the snapshots of the indexes now."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['get_config']) -> records.RuntimeConfig:
        """Show the configuration at work."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['set_auto_save'], **arguments: Unpack[records.AutoSave]) -> records.AutoSaved:
        """Switch the writing of snapshots in the background on or off; kept over restarts."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['rebuild_all_vectors'], **arguments: Unpack[records.RebuildVectors]) -> records.VectorRebuild:
        """Embed everything again in the background; the old vectors answer until the new ones are complete."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['rebuild_status']) -> records.RebuildStatus:
        """Tell how far the vectors are."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['recover_embedding', 'paragraph_backfill_once']) -> records.Recovered:
        """Ask the model again now, and try again every paragraph that failed."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['reload']) -> records.ReloadStatus:
        """Read the configuration file now and apply it; if it is refused, the error says why and nothing changes."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['reload_status']) -> records.ReloadStatus:
        """Tell what became of config changes, and why one was refused."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['backup'], **arguments: Unpack[records.MakeBackup]) -> records.Made:
        """Copy the memory as it is now into a backup; calls go on meanwhile."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['list_backups']) -> records.Backups:
        """List the backups in the data directory and within `backup.roots`."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['verify_backup', 'verify'], **arguments: Unpack[records.WhichBackup]) -> records.BackupVerdict:
        """Compare a backup with its manifest, and look through its database."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['restore_backup', 'restore'], **arguments: Unpack[records.WhichBackup]) -> records.RestoredBackup:
        """Put a backup in the place of everything that is stored; that is set aside as a backup first."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['delete_backup'], **arguments: Unpack[records.WhichBackup]) -> records.DeletedBackup:
        """Remove a backup for good."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['backup_status']) -> records.CopyProgress:
        """Tell how far a backup, restore, export or import is."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['export', 'export_memory'], **arguments: Unpack[records.ExportMemory]) -> records.ExportedMemory:
        """Write everything that is stored into one file of JSON lines; calls go on meanwhile."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['import_export'], **arguments: Unpack[records.ImportExport]) -> records.ImportedExport:
        """Fill an empty memory with an export; afterwards it answers as the exported one did."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['audit', 'timeline'], **arguments: Unpack[records.ListChanges]) -> records.Changes:
        """Tell who changed what, and when, the newest first, and how to undo it."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['self_check']) -> records.Checked:
        """The last report of a check; the first call makes one."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['refresh_self_check', 'check'], **arguments: Unpack[records.CheckNow]) -> records.Checked:
        """Check the database, the indexes and vectors against the rows, the models, the configuration and the disk."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['repair']) -> records.RepairDone:
        """Check deeply, and mend what can be mended: nothing of what was stored is changed."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['changes'], **arguments: Unpack[records.FollowChanges]) -> records.DocumentChangesSince:
        """Tell what became of documents since a number, waiting for it if nothing has happened yet."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['get_config_text']) -> records.ConfigText:
        """Show the text of the configuration file."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['preview_config'], **arguments: Unpack[records.ChangeConfig]) -> records.ConfigPreview:
        """Say what a change of the configuration would change, and what that costs; nothing is changed."""
    @overload
    def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['update_config'], **arguments: Unpack[records.ChangeConfig]) -> records.ConfigChanged:
        """Change settings in the configuration file, or replace its text, and apply it at once."""
    @overload
    def call(self, component: Literal['memory_source_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListSources]) -> records.Sources:
        """List the sources that hold live paragraphs."""
    @overload
    def call(self, component: Literal['memory_source_admin'], /, *, action: Literal['delete'], **arguments: Unpack[records.DeleteSource]) -> records.Deletion:
        """Delete every paragraph of a source."""
    @overload
    def call(self, component: Literal['memory_source_admin'], /, *, action: Literal['batch_delete'], **arguments: Unpack[records.DeleteSources]) -> records.Deletion:
        """Delete every paragraph of several sources, in one transaction."""
    @overload
    def call(self, component: Literal['memory_stats'], /) -> records.Statistics:
        """Count what is stored and tell how current the indexes are."""
    @overload
    def call(self, component: Literal['memory_text_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListTexts]) -> records.Texts:
        """Page through what is stored, the last stored first, or what was said last."""
    @overload
    def call(self, component: Literal['memory_text_admin'], /, *, action: Literal['get', 'show'], **arguments: Unpack[records.GetTexts]) -> records.FoundTexts:
        """Show texts by their ids."""
    @overload
    def call(self, component: Literal['memory_text_admin'], /, *, action: Literal['history'], **arguments: Unpack[records.TextHistory]) -> records.Wordings:
        """Show the wordings that a text has had, deleted ones too until they are purged."""
    @overload
    def call(self, component: Literal['memory_text_admin'], /, *, action: Literal['chats'], **arguments: Unpack[records.ListChats]) -> records.Chats:
        """List the chats that hold something, the one talked in last first."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['settings', 'get_settings']) -> records.TuningSettings:
        """Show how tuning is set, and which settings it may change."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['get_profile'], **arguments: Unpack[records.GetRetrievalProfile]) -> records.ProfileFound:
        """Show the retrieval settings at work, and what was applied."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['apply_profile'], **arguments: Unpack[records.ApplyProfile]) -> records.ProfileApplied:
        """Change retrieval settings in the configuration file and apply them at once; `rollback_profile` undoes it."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['rollback_profile'], **arguments: Unpack[records.RollbackProfile]) -> records.ProfileApplied:
        """Take back the profile that was applied last."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['export_profile'], **arguments: Unpack[records.ExportProfile]) -> records.ProfileExported:
        """Write the settings at work, or the best of a task, as the text of a configuration file."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['create_task'], **arguments: Unpack[records.CreateTask]) -> records.TaskFound:
        """Begin a search for better retrieval settings in the background."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['list_tasks', 'list'], **arguments: Unpack[records.ListTuningTasks]) -> records.TaskList:
        """List tuning tasks, the newest first."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['get_task', 'get'], **arguments: Unpack[records.GetTuningTask]) -> records.TaskFound:
        """Show a tuning task."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['get_rounds'], **arguments: Unpack[records.GetRounds]) -> records.RoundsFound:
        """Show the rounds of a tuning task."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['cancel'], **arguments: Unpack[records.TaskId]) -> records.TaskFound:
        """End a tuning task that waits or is under way."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['apply_best'], **arguments: Unpack[records.ApplyBest]) -> records.ProfileApplied:
        """Apply the settings that a tuning task found and recommends."""
    @overload
    def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['get_report'], **arguments: Unpack[records.GetReport]) -> records.ReportFound:
        """Tell what a tuning task did, in words or as data, with a drawing."""
    @overload
    def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['status'], **arguments: Unpack[records.LifecycleStatusRequest]) -> records.LifecycleStatus:
        """Tell how much is left of memories, and what will become of them."""
    @overload
    def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['recycle_bin'], **arguments: Unpack[records.ListBin]) -> records.Bin:
        """List what was forgotten, has faded or has expired, and can be restored."""
    @overload
    def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['restore'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Bring memories back from rest or from the recycle bin, whole."""
    @overload
    def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['reinforce'], **arguments: Unpack[records.Strengthened]) -> records.Maintained:
        """Reinforce memories, and protect them for a while."""
    @overload
    def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['weaken'], **arguments: Unpack[records.Strengthened]) -> records.Maintained:
        """Weaken memories; a relation of which too little is left is put to rest."""
    @overload
    def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['remember_forever'], **arguments: Unpack[records.Strengthened]) -> records.Maintained:
        """Reinforce memories, and keep them from fading for good."""
    @overload
    def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['forget'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Move memories to the recycle bin; `restore` brings them back."""
    @overload
    def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['run']) -> records.RoundReport:
        """Make the round over what has expired or faded now, without waiting for its time."""
    @overload
    def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['create_space'], **arguments: Unpack[records.CreateSpace]) -> records.SpaceMade:
        """Make a space for vectors, or find the one of that name."""
    @overload
    def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['add'], **arguments: Unpack[records.AddVectors]) -> records.VectorsAdded:
        """Store vectors; one whose id is there already takes its place."""
    @overload
    def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['search'], **arguments: Unpack[records.SearchVectors]) -> records.FoundVectors:
        """Find the vectors that are nearest to one, by cosine."""
    @overload
    def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['get', 'show'], **arguments: Unpack[records.GetVectors]) -> records.ShownVectors:
        """Show vectors by their ids."""
    @overload
    def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListVectors]) -> records.VectorPage:
        """Page through the vectors of a space, in the order in which they were stored."""
    @overload
    def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['delete'], **arguments: Unpack[records.DeleteVectors]) -> records.VectorsDeleted:
        """Delete vectors by their ids or attributes, for good but for backups; the texts that they are of stay."""
    @overload
    def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['drop_space'], **arguments: Unpack[records.InSpace]) -> records.SpaceDropped:
        """Remove a space with all vectors in it, for good but for backups."""
    @overload
    def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['spaces']) -> records.Spaces:
        """List the spaces for vectors, with how many each holds."""
    @overload
    def call(self, component: Literal['search_memory'], /, **arguments: Unpack[records.KernelSearchRequest]) -> records.RetrievalResult:
        """Search long-term memory by words, meaning, time and person; every hit says why it was found."""
    @overload
    def call(self, component: str, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        """Call any operation; the error that it answers is raised."""

class AsyncTypedCalls:
    @overload
    async def call(self, component: Literal['embed_texts'], /, **arguments: Unpack[records.EmbedTexts]) -> records.Embedded:
        """Embed texts with the model whose vectors the memory searches by; nothing is stored."""
    @overload
    async def call(self, component: Literal['enqueue_feedback_task'], /, **arguments: Unpack[records.EnqueueFeedback]) -> records.FeedbackQueued:
        """Remember an answer, to learn later from what the chat said of it; durable when it returns."""
    @overload
    async def call(self, component: Literal['get_context'], /, **arguments: Unpack[records.GetContext]) -> records.Context:
        """Tell who is there, what is held true, what was said and what is planned, as text for a prompt within a budget."""
    @overload
    async def call(self, component: Literal['get_person_profile'], /, **arguments: Unpack[records.GetPersonProfile]) -> records.PersonProfile:
        """Tell what is known of a person, with the evidence, as far as the asking chat may see it; asks no model."""
    @overload
    async def call(self, component: Literal['ingest_messages'], /, **arguments: Unpack[records.IngestMessages]) -> records.MessagesResult:
        """Store chat turns in one transaction; durable when it returns."""
    @overload
    async def call(self, component: Literal['ingest_summary'], /, **arguments: Unpack[records.IngestSummary]) -> records.IngestResult:
        """Store the summary of a stretch of chat, or have one written in the background; durable when it returns."""
    @overload
    async def call(self, component: Literal['ingest_text'], /, **arguments: Unpack[records.IngestText]) -> records.IngestResult:
        """Store a text with its persons, entities and relations; durable when it returns."""
    @overload
    async def call(self, component: Literal['ingest_texts'], /, **arguments: Unpack[records.IngestTexts]) -> records.TextsResult:
        """Store many texts in one transaction; durable when it returns."""
    @overload
    async def call(self, component: Literal['maintain_memory'], /, *, action: Literal['recycle_bin'], **arguments: Unpack[records.ListBin]) -> records.Bin:
        """List what was forgotten, has faded or has expired, and can be restored."""
    @overload
    async def call(self, component: Literal['maintain_memory'], /, *, action: Literal['restore'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Bring memories back from rest or from the recycle bin, whole."""
    @overload
    async def call(self, component: Literal['maintain_memory'], /, *, action: Literal['reinforce'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Reinforce memories with strength 1, and protect them for a day."""
    @overload
    async def call(self, component: Literal['maintain_memory'], /, *, action: Literal['protect'], **arguments: Unpack[records.Protect]) -> records.Maintained:
        """Keep memories from being put to rest, for some hours or for good."""
    @overload
    async def call(self, component: Literal['maintain_memory'], /, *, action: Literal['freeze'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Put relations to rest: they leave the graph until they are restored or reinforced."""
    @overload
    async def call(self, component: Literal['maintain_memory'], /, *, action: Literal['used'], **arguments: Unpack[records.Used]) -> records.Maintained:
        """Say which hits were really used: they and the relations behind them fade later, once in a while."""
    @overload
    async def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['preview', 'plan'], **arguments: Unpack[records.PreviewCorrection]) -> records.CorrectionPreview:
        """Work out what a correction in words would change; nothing is changed until it is executed."""
    @overload
    async def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['execute'], **arguments: Unpack[records.ExecuteCorrection]) -> records.CorrectionPlan:
        """Carry out a plan, in one transaction that can be rolled back."""
    @overload
    async def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['rollback'], **arguments: Unpack[records.PlanRequest]) -> records.CorrectionPlan:
        """Undo a plan that was carried out."""
    @overload
    async def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['get'], **arguments: Unpack[records.PlanRequest]) -> records.CorrectionPlan:
        """Show a plan and what became of it."""
    @overload
    async def call(self, component: Literal['memory_correction_admin', 'memory_fuzzy_modify_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListCorrections]) -> records.CorrectionPlans:
        """List plans, the newest first."""
    @overload
    async def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['preview'], **arguments: Unpack[records.Preview]) -> records.DeletePlan:
        """Show everything that a deletion would take along; nothing is written."""
    @overload
    async def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['execute'], **arguments: Unpack[records.Execute]) -> records.Executed:
        """Delete in one transaction; it can be restored until it is purged."""
    @overload
    async def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['restore'], **arguments: Unpack[records.Restore]) -> records.RestoreResult:
        """Bring back a deletion, or some of its items, as they were."""
    @overload
    async def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['get_operation', 'get'], **arguments: Unpack[records.GetOperation]) -> records.OperationResult:
        """Show a deletion with its items."""
    @overload
    async def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['list_operations', 'list'], **arguments: Unpack[records.ListOperations]) -> records.OperationList:
        """List deletions, the newest first."""
    @overload
    async def call(self, component: Literal['memory_delete_admin'], /, *, action: Literal['purge'], **arguments: Unpack[records.Purge]) -> records.PurgeResult:
        """Erase what was deleted for good, from every file, and tell what was checked."""
    @overload
    async def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['get', 'show'], **arguments: Unpack[records.GetDocuments]) -> records.Documents:
        """Show documents by their ids, whole, as they were told."""
    @overload
    async def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListDocuments]) -> records.DocumentPage:
        """Page through documents."""
    @overload
    async def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['count'], **arguments: Unpack[records.CountDocuments]) -> records.DocumentCount:
        """Count documents."""
    @overload
    async def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['set'], **arguments: Unpack[records.SetDocuments]) -> records.Described:
        """Give documents other metadata, tags, or another time to expire; what they say stays, and so does what is gone."""
    @overload
    async def call(self, component: Literal['memory_document_admin'], /, *, action: Literal['delete'], **arguments: Unpack[records.DeleteDocuments]) -> records.DeletedDocuments:
        """Delete documents in one transaction; that nothing matches is no error."""
    @overload
    async def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['list', 'query'], **arguments: Unpack[records.ListEpisodes]) -> records.Episodes:
        """List episodes, by what they are about, who takes part, when they were, and where they come from."""
    @overload
    async def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['get'], **arguments: Unpack[records.GetEpisode]) -> records.OneEpisode:
        """Read one episode with its paragraphs."""
    @overload
    async def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['status'], **arguments: Unpack[records.EpisodeStatusRequest]) -> records.EpisodeStatus:
        """Tell how far the episodes are, and which sources failed and why."""
    @overload
    async def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['rebuild'], **arguments: Unpack[records.RebuildEpisodes]) -> records.Rebuilding:
        """Make the episodes of sources anew in the background; an episode that comes out the same keeps its revision."""
    @overload
    async def call(self, component: Literal['memory_episode_admin'], /, *, action: Literal['process_pending', 'process_sources'], **arguments: Unpack[records.Process]) -> records.EpisodesProcessed:
        """Make the episodes now that wait to be made, those that were given up included."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListFacts]) -> records.Facts:
        """List facts, the newest first."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['query', 'search'], **arguments: Unpack[records.QueryFacts]) -> records.Facts:
        """Find facts by words, subject, attribute, status or time."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['get', 'show'], **arguments: Unpack[records.GetFact]) -> records.FactDetail:
        """Show a fact with its evidence and every change of its status."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['conflicts'], **arguments: Unpack[records.ListConflicts]) -> records.Conflicts:
        """List contradictions that nothing has decided."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['status']) -> records.FactStatus:
        """Count facts by status and tell how current they are."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['process_pending']) -> records.FactsProcessed:
        """Read what has been stored since, without waiting for the background."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['resolve'], **arguments: Unpack[records.Resolve]) -> records.Changed:
        """Say which of contradicting facts is true; the others are superseded by it."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['add'], **arguments: Unpack[records.AddFact]) -> records.Changed:
        """Add a fact by hand; a later statement of no less authority may supersede it."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['retract'], **arguments: Unpack[records.Retract]) -> records.Changed:
        """Say that a fact was never true; the text it was read from stays."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['supersede'], **arguments: Unpack[records.Supersede]) -> records.Changed:
        """Say what is true in the place of a fact."""
    @overload
    async def call(self, component: Literal['memory_fact_admin'], /, *, action: Literal['undo'], **arguments: Unpack[records.UndoFactChange]) -> records.Changed:
        """Take a change back, one made by hand or one that a newer statement made."""
    @overload
    async def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListFeedback]) -> records.FeedbackTasks:
        """List feedback tasks, the newest first."""
    @overload
    async def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['get'], **arguments: Unpack[records.FeedbackId]) -> records.FeedbackTaskFound:
        """Show a feedback task."""
    @overload
    async def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['rollback'], **arguments: Unpack[records.RollbackFeedback]) -> records.FeedbackTaskFound:
        """Undo what a feedback task corrected."""
    @overload
    async def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['status']) -> records.FeedbackStatus:
        """Count feedback tasks by status."""
    @overload
    async def call(self, component: Literal['memory_feedback_admin'], /, *, action: Literal['process_pending'], **arguments: Unpack[records.ProcessFeedback]) -> records.FeedbackProcessed:
        """Look at the tasks that are due now."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['get_graph', 'get', 'list'], **arguments: Unpack[records.GetGraph]) -> records.GraphPage:
        """Page through the graph, the most important nodes first."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['search'], **arguments: Unpack[records.SearchGraph]) -> records.Found:
        """Find entities and relations by name, alias or predicate."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['node_detail', 'get_node'], **arguments: Unpack[records.NodeDetail]) -> records.NodeAnswer:
        """Show a node with its relations and paragraphs."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['edge_detail', 'get_edge'], **arguments: Unpack[records.EdgeDetail]) -> records.EdgeAnswer:
        """Show the relations from one node to another, with what supports them."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['create_node'], **arguments: Unpack[records.CreateNode]) -> records.Change:
        """Make a node."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['delete_node'], **arguments: Unpack[records.DeleteNode]) -> records.Change:
        """Delete a node with its relations; `undo` brings all of them back."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['rename_node'], **arguments: Unpack[records.RenameNode]) -> records.Change:
        """Rename a node; its old name becomes an alias."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['merge_nodes'], **arguments: Unpack[records.MergeNodes]) -> records.Change:
        """Make several nodes one; their names go on to mean it."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['add_alias'], **arguments: Unpack[records.AliasEdit]) -> records.Change:
        """Let a node go by another name too."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['remove_alias'], **arguments: Unpack[records.AliasEdit]) -> records.Change:
        """Let a node no longer go by an alias."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['suggest_merges'], **arguments: Unpack[records.SuggestMerges]) -> records.MergeSuggestions:
        """Name pairs of nodes that may be one and the same."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['create_edge'], **arguments: Unpack[records.CreateEdge]) -> records.Change:
        """Make a relation, on paragraphs or by hand."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['delete_edge'], **arguments: Unpack[records.EdgeEdit]) -> records.Change:
        """Delete a relation, or all from one node to another; `undo` brings them back."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['update_edge_weight', 'set_edge_weight'], **arguments: Unpack[records.WeighEdge]) -> records.Change:
        """Say how much relations weigh in the walk of search and in the order of nodes."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['undo'], **arguments: Unpack[records.UndoGraphEdit]) -> records.Undone:
        """Undo a change: the rows are exactly as they were."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['list_undo'], **arguments: Unpack[records.ListUndo]) -> records.UndoList:
        """List the changes that can be undone."""
    @overload
    async def call(self, component: Literal['memory_graph_admin'], /, *, action: Literal['export'], **arguments: Unpack[records.Export]) -> records.Exported:
        """Export the graph as GraphML or node-link JSON; a large one to a file below `exports/`."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['settings', 'get_settings', 'get_guide']) -> records.Settings:
        """Show what can be imported, how, and within which limits."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['path_aliases', 'get_path_aliases']) -> records.PathAliases:
        """Name the folders that files may be imported from."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['resolve_path', 'resolve'], **arguments: Unpack[records.ResolvePath]) -> records.ResolvedPath:
        """Say where a path leads, and what is there."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_upload'], **arguments: Unpack[records.CreateUpload]) -> records.Task:
        """Import files that were uploaded, or whose content is handed over."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_paste'], **arguments: Unpack[records.CreatePaste]) -> records.Task:
        """Import a text that is handed over."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_raw_scan'], **arguments: Unpack[records.CreateRawScan]) -> records.Task:
        """Import the files below a folder, or one file."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_lpmm_openie'], **arguments: Unpack[records.CreateLpmmOpenie]) -> records.Task:
        """Import the OpenIE files of LPMM."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_lpmm_convert'], **arguments: Unpack[records.CreateLpmmConvert]) -> records.Task:
        """Import the store of LPMM; its texts get vectors of this memory's model."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_maibot_migration'], **arguments: Unpack[records.CreateMaiBotMigration]) -> records.Task:
        """Import the chats in a database of MaiBot, which may be in use."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['create_temporal_backfill'], **arguments: Unpack[records.CreateBackfill]) -> records.Task:
        """Give paragraphs without a time the one that their text names, else the one when they were stored."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListImports]) -> records.Tasks:
        """List imports with their progress."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['get'], **arguments: Unpack[records.GetImport]) -> records.Task:
        """Show an import with its files."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['chunks', 'get_chunks'], **arguments: Unpack[records.GetChunks]) -> records.Chunks:
        """Show the chunks of a file, with what could not be stored and why."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['cancel'], **arguments: Unpack[records.Which]) -> records.Task:
        """End an import; what it has stored stays."""
    @overload
    async def call(self, component: Literal['memory_import_admin'], /, *, action: Literal['retry_failed'], **arguments: Unpack[records.RetryFailed]) -> records.Retried:
        """Read again the chunks that failed, and what was not read of files that failed."""
    @overload
    async def call(self, component: Literal['memory_key_admin'], /, *, action: Literal['status']) -> records.KeyStatus:
        """Tell whether the memory is encrypted, with which keys, and what needs each of them."""
    @overload
    async def call(self, component: Literal['memory_key_admin'], /, *, action: Literal['change'], **arguments: Unpack[records.ChangeSecret]) -> records.ChangedSecret:
        """Wrap the keys by another secret; no page is written. The settings have to name it before the next start."""
    @overload
    async def call(self, component: Literal['memory_key_admin'], /, *, action: Literal['rotate']) -> records.RotatedKey:
        """Encrypt everything with a new random key while the memory is in use; backups keep theirs."""
    @overload
    async def call(self, component: Literal['memory_key_admin'], /, *, action: Literal['verify']) -> records.KeyVerdict:
        """Read the database and every encrypted file from end to end."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['query'], **arguments: Unpack[records.AskProfile]) -> records.FullProfile:
        """Show all that is known of a person, from every chat."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['evidence'], **arguments: Unpack[records.AskProfile]) -> records.EvidenceList:
        """List what a profile stands on."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['correct_evidence'], **arguments: Unpack[records.CorrectEvidence]) -> records.Corrected:
        """Delete a piece of evidence that is wrong; the profile is answered without it."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['undo_evidence'], **arguments: Unpack[records.UndoEvidence]) -> records.GivenBack:
        """Give back the evidence that `correct_evidence` deleted; the profile is answered with it."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListProfiles]) -> records.Profiles:
        """List the persons of whom something was said, or written by hand."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['set_override'], **arguments: Unpack[records.SetOverride]) -> records.FullProfile:
        """Show a text in the place of a person's profile, in every chat."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['delete_override'], **arguments: Unpack[records.Who]) -> records.OverrideDeleted:
        """Show a person's derived profile again."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['history'], **arguments: Unpack[records.History]) -> records.Snapshots:
        """List what was known of a person at earlier times, without what has been deleted since."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['add_alias'], **arguments: Unpack[records.Alias]) -> records.Aliases:
        """Let a further name mean a person, in one chat or everywhere."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['remove_alias'], **arguments: Unpack[records.Alias]) -> records.Aliases:
        """Take a further name away from a person: in one chat, or wherever it counts."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['status'], **arguments: Unpack[records.ProfileStatusRequest]) -> records.ProfileStatus:
        """Tell how far profiles are behind: they are read from the facts, and nothing of them waits to be derived."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['process_pending'], **arguments: Unpack[records.ProcessProfiles]) -> records.ProfilesProcessed:
        """Read what profiles are made of out of the news, now."""
    @overload
    async def call(self, component: Literal['memory_profile_admin'], /, *, action: Literal['refresh'], **arguments: Unpack[records.Who]) -> records.Refreshed:
        """Tell whether a person's profile has news to come: it is read anew whenever it is asked for."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['settle'], **arguments: Unpack[records.Settle]) -> records.Settled:
        """Wait until what was written has been read, has its vectors and is in the indexes; after so long tell what still waits."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['save']) -> records.Saved:
        """Write the snapshots of the indexes now."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['get_config']) -> records.RuntimeConfig:
        """Show the configuration at work."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['set_auto_save'], **arguments: Unpack[records.AutoSave]) -> records.AutoSaved:
        """Switch the writing of snapshots in the background on or off; kept over restarts."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['rebuild_all_vectors'], **arguments: Unpack[records.RebuildVectors]) -> records.VectorRebuild:
        """Embed everything again in the background; the old vectors answer until the new ones are complete."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['rebuild_status']) -> records.RebuildStatus:
        """Tell how far the vectors are."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['recover_embedding', 'paragraph_backfill_once']) -> records.Recovered:
        """Ask the model again now, and try again every paragraph that failed."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['reload']) -> records.ReloadStatus:
        """Read the configuration file now and apply it; if it is refused, the error says why and nothing changes."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['reload_status']) -> records.ReloadStatus:
        """Tell what became of config changes, and why one was refused."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['backup'], **arguments: Unpack[records.MakeBackup]) -> records.Made:
        """Copy the memory as it is now into a backup; calls go on meanwhile."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['list_backups']) -> records.Backups:
        """List the backups in the data directory and within `backup.roots`."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['verify_backup', 'verify'], **arguments: Unpack[records.WhichBackup]) -> records.BackupVerdict:
        """Compare a backup with its manifest, and look through its database."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['restore_backup', 'restore'], **arguments: Unpack[records.WhichBackup]) -> records.RestoredBackup:
        """Put a backup in the place of everything that is stored; that is set aside as a backup first."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['delete_backup'], **arguments: Unpack[records.WhichBackup]) -> records.DeletedBackup:
        """Remove a backup for good."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['backup_status']) -> records.CopyProgress:
        """Tell how far a backup, restore, export or import is."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['export', 'export_memory'], **arguments: Unpack[records.ExportMemory]) -> records.ExportedMemory:
        """Write everything that is stored into one file of JSON lines; calls go on meanwhile."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['import_export'], **arguments: Unpack[records.ImportExport]) -> records.ImportedExport:
        """Fill an empty memory with an export; afterwards it answers as the exported one did."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['audit', 'timeline'], **arguments: Unpack[records.ListChanges]) -> records.Changes:
        """Tell who changed what, and when, the newest first, and how to undo it."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['self_check']) -> records.Checked:
        """The last report of a check; the first call makes one."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['refresh_self_check', 'check'], **arguments: Unpack[records.CheckNow]) -> records.Checked:
        """Check the database, the indexes and vectors against the rows, the models, the configuration and the disk."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['repair']) -> records.RepairDone:
        """Check deeply, and mend what can be mended: nothing of what was stored is changed."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['changes'], **arguments: Unpack[records.FollowChanges]) -> records.DocumentChangesSince:
        """Tell what became of documents since a number, waiting for it if nothing has happened yet."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['get_config_text']) -> records.ConfigText:
        """Show the text of the configuration file."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['preview_config'], **arguments: Unpack[records.ChangeConfig]) -> records.ConfigPreview:
        """Say what a change of the configuration would change, and what that costs; nothing is changed."""
    @overload
    async def call(self, component: Literal['memory_runtime_admin'], /, *, action: Literal['update_config'], **arguments: Unpack[records.ChangeConfig]) -> records.ConfigChanged:
        """Change settings in the configuration file, or replace its text, and apply it at once."""
    @overload
    async def call(self, component: Literal['memory_source_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListSources]) -> records.Sources:
        """List the sources that hold live paragraphs."""
    @overload
    async def call(self, component: Literal['memory_source_admin'], /, *, action: Literal['delete'], **arguments: Unpack[records.DeleteSource]) -> records.Deletion:
        """Delete every paragraph of a source."""
    @overload
    async def call(self, component: Literal['memory_source_admin'], /, *, action: Literal['batch_delete'], **arguments: Unpack[records.DeleteSources]) -> records.Deletion:
        """Delete every paragraph of several sources, in one transaction."""
    @overload
    async def call(self, component: Literal['memory_stats'], /) -> records.Statistics:
        """Count what is stored and tell how current the indexes are."""
    @overload
    async def call(self, component: Literal['memory_text_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListTexts]) -> records.Texts:
        """Page through what is stored, the last stored first, or what was said last."""
    @overload
    async def call(self, component: Literal['memory_text_admin'], /, *, action: Literal['get', 'show'], **arguments: Unpack[records.GetTexts]) -> records.FoundTexts:
        """Show texts by their ids."""
    @overload
    async def call(self, component: Literal['memory_text_admin'], /, *, action: Literal['history'], **arguments: Unpack[records.TextHistory]) -> records.Wordings:
        """Show the wordings that a text has had, deleted ones too until they are purged."""
    @overload
    async def call(self, component: Literal['memory_text_admin'], /, *, action: Literal['chats'], **arguments: Unpack[records.ListChats]) -> records.Chats:
        """List the chats that hold something, the one talked in last first."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['settings', 'get_settings']) -> records.TuningSettings:
        """Show how tuning is set, and which settings it may change."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['get_profile'], **arguments: Unpack[records.GetRetrievalProfile]) -> records.ProfileFound:
        """Show the retrieval settings at work, and what was applied."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['apply_profile'], **arguments: Unpack[records.ApplyProfile]) -> records.ProfileApplied:
        """Change retrieval settings in the configuration file and apply them at once; `rollback_profile` undoes it."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['rollback_profile'], **arguments: Unpack[records.RollbackProfile]) -> records.ProfileApplied:
        """Take back the profile that was applied last."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['export_profile'], **arguments: Unpack[records.ExportProfile]) -> records.ProfileExported:
        """Write the settings at work, or the best of a task, as the text of a configuration file."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['create_task'], **arguments: Unpack[records.CreateTask]) -> records.TaskFound:
        """Begin a search for better retrieval settings in the background."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['list_tasks', 'list'], **arguments: Unpack[records.ListTuningTasks]) -> records.TaskList:
        """List tuning tasks, the newest first."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['get_task', 'get'], **arguments: Unpack[records.GetTuningTask]) -> records.TaskFound:
        """Show a tuning task."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['get_rounds'], **arguments: Unpack[records.GetRounds]) -> records.RoundsFound:
        """Show the rounds of a tuning task."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['cancel'], **arguments: Unpack[records.TaskId]) -> records.TaskFound:
        """End a tuning task that waits or is under way."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['apply_best'], **arguments: Unpack[records.ApplyBest]) -> records.ProfileApplied:
        """Apply the settings that a tuning task found and recommends."""
    @overload
    async def call(self, component: Literal['memory_tuning_admin'], /, *, action: Literal['get_report'], **arguments: Unpack[records.GetReport]) -> records.ReportFound:
        """Tell what a tuning task did, in words or as data, with a drawing."""
    @overload
    async def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['status'], **arguments: Unpack[records.LifecycleStatusRequest]) -> records.LifecycleStatus:
        """Tell how much is left of memories, and what will become of them."""
    @overload
    async def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['recycle_bin'], **arguments: Unpack[records.ListBin]) -> records.Bin:
        """List what was forgotten, has faded or has expired, and can be restored."""
    @overload
    async def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['restore'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Bring memories back from rest or from the recycle bin, whole."""
    @overload
    async def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['reinforce'], **arguments: Unpack[records.Strengthened]) -> records.Maintained:
        """Reinforce memories, and protect them for a while."""
    @overload
    async def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['weaken'], **arguments: Unpack[records.Strengthened]) -> records.Maintained:
        """Weaken memories; a relation of which too little is left is put to rest."""
    @overload
    async def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['remember_forever'], **arguments: Unpack[records.Strengthened]) -> records.Maintained:
        """Reinforce memories, and keep them from fading for good."""
    @overload
    async def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['forget'], **arguments: Unpack[records.Maintenance]) -> records.Maintained:
        """Move memories to the recycle bin; `restore` brings them back."""
    @overload
    async def call(self, component: Literal['memory_v5_admin'], /, *, action: Literal['run']) -> records.RoundReport:
        """Make the round over what has expired or faded now, without waiting for its time."""
    @overload
    async def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['create_space'], **arguments: Unpack[records.CreateSpace]) -> records.SpaceMade:
        """Make a space for vectors, or find the one of that name."""
    @overload
    async def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['add'], **arguments: Unpack[records.AddVectors]) -> records.VectorsAdded:
        """Store vectors; one whose id is there already takes its place."""
    @overload
    async def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['search'], **arguments: Unpack[records.SearchVectors]) -> records.FoundVectors:
        """Find the vectors that are nearest to one, by cosine."""
    @overload
    async def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['get', 'show'], **arguments: Unpack[records.GetVectors]) -> records.ShownVectors:
        """Show vectors by their ids."""
    @overload
    async def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['list'], **arguments: Unpack[records.ListVectors]) -> records.VectorPage:
        """Page through the vectors of a space, in the order in which they were stored."""
    @overload
    async def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['delete'], **arguments: Unpack[records.DeleteVectors]) -> records.VectorsDeleted:
        """Delete vectors by their ids or attributes, for good but for backups; the texts that they are of stay."""
    @overload
    async def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['drop_space'], **arguments: Unpack[records.InSpace]) -> records.SpaceDropped:
        """Remove a space with all vectors in it, for good but for backups."""
    @overload
    async def call(self, component: Literal['memory_vector_admin'], /, *, action: Literal['spaces']) -> records.Spaces:
        """List the spaces for vectors, with how many each holds."""
    @overload
    async def call(self, component: Literal['search_memory'], /, **arguments: Unpack[records.KernelSearchRequest]) -> records.RetrievalResult:
        """Search long-term memory by words, meaning, time and person; every hit says why it was found."""
    @overload
    async def call(self, component: str, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        """Call any operation; the error that it answers is raised."""
