// Package explain follows one request through the maps of a revision as the frontend's lines make HAProxy follow it, and tells each step. It is
// pure: the revision is all that it reads.
//
// It owns the names of the maps and the form of their keys, so that who writes the entries and who walks through them agree:
//
//	hosts      a host, or "*." for one label before the rest   -> the owner: the same text
//	exact      OWNER/path                                      -> backend
//	prefix     OWNER/path/  (OWNER/ for the root)              -> backend; the longest key that the request's OWNER/path/ starts with
//	choice     SPLIT/0 … SPLIT/99, where one of these led to a SPLIT -> backend; the part is drawn for each request
//	redirect   a host or an owner                              -> there: port 80 leads to https
//	fallback   "default"                                       -> the fleet's oldest default backend
//
// The owner of a request whose host nobody names is "-". Invariants:
//
//	EXPL-1  Walk tells what HAProxy does, on every version: a test puts the same requests to both.
//	EXPL-2  Walk reads the revision's entries only; it knows no object and no rule of Ingress. Lint and a test of the imports hold it to that.
package explain
