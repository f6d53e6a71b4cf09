/**
 * Bundles: the files of an app as one content-addressed value.
 *
 * B1  Equal files give equal bytes, on every machine and Node version (hence no native compressor).
 * B2  Reading enforces the bounds of an app before it holds the content, and refuses unsafe paths and duplicates.
 */

import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";

import { MeshError } from "@mesh/kernel";
import { gzipSync } from "fflate";

import type { AppFiles } from "./app.ts";
import { APP_LIMITS, AppBudget, type AppLimits, requireSafePath } from "./app-path.ts";
import { compareText } from "./problem-log.ts";
import { readTar, TAR_BLOCK, writeTar } from "./tar.ts";

/** A gzipped tar of an app's files. */
export interface Bundle {
  readonly bytes: Uint8Array;
  /** {@link bundleDigest} of the bytes. */
  readonly digest: string;
  readonly sizeBytes: number;
  readonly fileCount: number;
}

/** Packs the files of an app; throws when they break the bounds of an app. */
export function bundleApp(files: AppFiles, limits: AppLimits = APP_LIMITS): Bundle {
  const budget = new AppBudget(limits);
  const paths = [...files.keys()].toSorted(compareText);
  const entries = paths.map((path) => {
    const bytes = files.get(path) ?? new Uint8Array();
    requireSafePath(path);
    budget.add(path, bytes.length);
    return { path, bytes };
  });
  // A zero time leaves the field empty; absent would mean now.
  const bytes = gzipSync(writeTar(entries), { level: 6, mtime: 0 });
  return { bytes, digest: bundleDigest(bytes), sizeBytes: bytes.length, fileCount: paths.length };
}

/** Unpacks a bundle; throws a MeshError that says what is wrong with it. */
export function readBundle(bytes: Uint8Array, limits: AppLimits = APP_LIMITS): AppFiles {
  const budget = new AppBudget(limits);
  const files = new Map<string, Uint8Array>();
  const seen = new Set<string>();
  const entries = readTar(inflate(bytes, limits), (path, sizeBytes) => {
    requireSafePath(path);
    if (seen.has(path)) {
      throw new MeshError("invalid_argument", `the bundle holds ${path} twice; push the app again`);
    }
    seen.add(path);
    budget.add(path, sizeBytes);
  });
  for (const { path, bytes: content } of entries) files.set(path, content);
  return files;
}

/** Name of a bundle: the SHA-256 of its bytes in hexadecimal. */
export function bundleDigest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function inflate(bytes: Uint8Array, limits: AppLimits): Uint8Array {
  // Content, for each file a header and padding, the end marker, and one file too many to be named by the budget.
  const maxOutputLength = limits.maxTotalBytes + (limits.maxFiles + 2) * 2 * TAR_BLOCK;
  try {
    return gunzipSync(bytes, { maxOutputLength });
  } catch (thrown) {
    if (thrown instanceof RangeError) {
      const message = `the bundle unpacks to more than ${maxOutputLength} bytes; move large files out of the app`;
      throw new MeshError("resource_exhausted", message, { cause: thrown });
    }
    const message = "this is not an app bundle: it is not gzip data, or it is damaged; push the app again";
    throw new MeshError("invalid_argument", message, { cause: thrown });
  }
}
