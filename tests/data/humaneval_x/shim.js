console.assert = (ok, ...said) => { if (!ok) throw new Error('assertion failed ' + said.join(' ')) }
const required = require
require = (name) => name === 'js-md5'
  ? (text) => required('crypto').createHash('md5').update(text).digest('hex')
  : required(name)
