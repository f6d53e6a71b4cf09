/** Files of devices, opened for download. */

import { mediaTypeOf } from "@mesh/documents";

import type { FileContents } from "../gateway/content-route.ts";
import { readContent, statFile } from "./content.ts";
import { type FileApiDeps, placeOf, told } from "./file-api.ts";

/** Opens files by the rules of FileService. */
export function createFileContents(deps: Pick<FileApiDeps, "access" | "devices" | "store">): FileContents {
  return {
    async open(request, call) {
      const place = await placeOf(deps, request, call);
      const facts = await told(deps, place, statFile(deps.devices, place, call.signal));
      return {
        name: place.path.slice(place.path.lastIndexOf("/") + 1),
        mediaType: mediaTypeOf(place.path),
        size: facts.size_bytes,
        hash: facts.hash,
        revision: facts.revision,
        parts: (range, { signal }) => readContent(deps.devices, place, { facts, ...range }, signal),
      };
    },
  };
}
