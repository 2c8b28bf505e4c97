import path from 'node:path'
// #region main
export default {
  port: 5173,
}
// #endregion main
