// What the tests use of testify's assert, with its rule of equality: no other module is needed.
type asserting struct{}

var assert asserting

func (asserting) New(t *testing.T) asserting { return assert }

func (asserting) Equal(expected, actual interface{}, said ...interface{}) {
	if !reflect.DeepEqual(expected, actual) {
		panic(fmt.Sprintf("expected %#v, got %#v", expected, actual))
	}
}
