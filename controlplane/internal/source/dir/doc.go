// Package dir is the source that reads a directory of Kubernetes YAML and JSON.
//
// The package owns the knowledge of which file said what: which files there are, what each said when it could last be read, and
// which document wins where two are about the same object. It decides nothing about the content of a document (package manifest)
// and never writes to the directory.
//
// One goroutine, Run's, owns all of it; another one merges fsnotify's events until Run asks for them. They tell it where to look,
// for speed; a walk over the whole tree every ten seconds finds what fsnotify missed (an overflow, a directory on a network, no
// more watches to be had). Either way it is the file itself that is believed, never an event.
//
//	watch ──> mark ──> settle ──> read ──> manifest.Parse ──> index ──> batch
//	walk  ───^
//
// Invariants:
//
//	DIR-1  A file counts when it was renamed into place, or when its size and time have rested for Rest; a file that is gone
//	       counts as gone when it was gone for Away. Half-written files are not read.
//	DIR-2  A file that cannot be read or parsed keeps its last rows, and the source says so; the other files go on. So does a
//	       directory that cannot be listed, for all that was under it, the root included. Only what was looked for in a
//	       directory that could be read, and was not there, is gone (source.SRC-3). A symlink that leads nowhere is there. So is all
//	       that was, when there is more under the root than anybody would have put there.
//	DIR-3  A document that is rejected leaves the last accepted form of its object in force, with a warning; where there never
//	       was one, the object is rejected.
//	DIR-4  The first document of an object, by path and then by place, wins; the others are warned about, and the next one takes
//	       over when it goes.
//	DIR-5  The work of a change is that of the files that changed: a file is read again only when it changed, and only objects
//	       whose content changed are delivered (source.SRC-4).
//	DIR-6  A swap of a symlink that several files lie behind, as kubelet and git-sync do it, is one batch. So is what stands in the root when it is another
//	       directory than before, as when a volume is mounted late.
//	DIR-7  Each directory is read once, whatever symlinks lead to it, so that loops end.
//	DIR-8  Files that go one after another, as rm -r takes them, go in one batch: none before the last has been gone for Away, but none is waited
//	       for longer than a second. So whoever judges a batch sees the whole of the accident.
//	DIR-9  What an operator said is to be forgotten counts as deleted for as long as the very same cannot be read. What can be read again is back at
//	       once, and what cannot be read for another reason is a fault again.
package dir
