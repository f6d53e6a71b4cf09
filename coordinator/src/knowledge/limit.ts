/** How much knowledge a workspace may hold. */

/** The most documents of a workspace. */
export const MAX_DOCUMENTS = 20_000;

/** The most bytes of all uploads of a workspace together. */
export const MAX_UPLOAD_BYTES: number = 2 * 1024 * 1024 * 1024;

/** How long an upload that goes with a message is kept. */
export const UPLOAD_DAYS = 30;

/** How messages name an upload: this and its id. */
export const UPLOAD_URI = "__yao.attachment://";
