// boost::any is std::any, for machines without boost.
#include <any>
namespace boost { using std::any; using std::any_cast; }
