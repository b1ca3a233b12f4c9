// Package haproxy talks to a real HAProxy: its worker's runtime socket, its master's socket, and its processes. It knows nothing of snapshots and plans.
// What HAProxy says in words is judged here, in one place, and is an error to decide by everywhere else.
//
// Invariants:
//
//	HAPROXY-1  A call ends with its context, and after an error the connection is closed: no later call can read an earlier one's answer.
//	HAPROXY-2  Answers belong to the commands in their order, one each, whatever their texts.
//	HAPROXY-3  Whether a reload has succeeded is decided by looking at the workers; an answer of the master is a reason to show, not proof.
//	HAPROXY-4  HAProxy outlives the agent: it has a session of its own and writes into a file, not into a pipe of the agent's.
//	HAPROXY-5  A process is known by its pid and start time, so that a pid that is used again is not taken for it.
//	HAPROXY-6  What is sent as one command is one command for HAProxy, on every version, or it is not sent.
//	HAPROXY-7  A table or list that was cut off or damaged is an error, never a shorter one.
package haproxy
