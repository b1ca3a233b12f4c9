// Package harness runs the product's binaries, real HAProxies and network namespaces for tests and the demo. Product
// processes are started as an operator starts them, by their flags; nothing of the product is linked in.
//
// It owns every process that it started and every HAProxy that an agent of it left behind, and ends them with the test.
//
// Invariants:
//
//	HARN-1  Nothing is left when a test ends: agents, control planes and HAProxies (which outlive their agents by design)
//	        are ended by pid, and one that is still there is an error of the test.
//	HARN-2  Nothing is left either when the test process dies, by a panic or a signal: a watchdog process ends whatever
//	        names one of the test's directories.
//	HARN-3  A missing HAProxy fails a test. It never skips it.
//	HARN-4  Traffic stays on loopback: HAProxy binds 127.0.0.1 unless a test says otherwise, pods have loopback addresses
//	        or addresses that are local to a network namespace of the test's own.
//
// A test package has
//
//	func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
package harness
