package wire

// Pending says whether the Assembler keeps a part of an update.
func (a *Assembler) Pending() bool { return a.now != nil }
