package table

import "io"

// chain reads several tables in sequence.
type chain struct {
	open func() (Reader, error) // opens the next table; returns nil without an error after the last
	rows Reader                 // open table, or nil
}

// read reads the next row. It returns io.EOF at the end of the last table.
func (c *chain) read(row *Row) error {
	for {
		if c.rows == nil {
			rows, err := c.open()
			if err != nil {
				return err
			}
			if rows == nil {
				return io.EOF
			}
			c.rows = rows
		}
		err := c.rows.Next(row)
		if err != io.EOF {
			return err
		}
		err = c.Close()
		if err != nil {
			return err
		}
	}
}

// Close closes the open table, if any.
func (c *chain) Close() error {
	if c.rows == nil {
		return nil
	}
	err := c.rows.Close()
	c.rows = nil
	return err
}
