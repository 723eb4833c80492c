package serve

import "runtime/debug"

// recovered has what panics be an error of the call alone; it is to be deferred.
func (c *call) recovered(err *error) {
	if p := recover(); p != nil {
		c.session.log.Error("a method failed", "method", c.method, "panic", p, "stack", string(debug.Stack()))
		*err = fail(codeInternal, nil, "%s failed: %v", c.method, p)
	}
}
