/** TCP ports of the system: free ones are chosen once, taken ones are named together with the flag that helps. */

import { createServer } from "node:net";

import { MeshError } from "@mesh/kernel";

/** A wanted port; 0 means any. */
export interface PortWish {
  readonly host: string;
  readonly port: number;
  /** What it is for, in words. */
  readonly use: string;
  /** The flag that changes it. */
  readonly flag: string;
}

/** Returns a port nobody listens on: the wanted one, or a free one for 0. */
export async function choosePort(wish: PortWish): Promise<number> {
  try {
    return await probe(wish.host, wish.port);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    switch (code) {
      case "EADDRINUSE":
        throw new MeshError(
          "failed_precondition",
          `port ${wish.port} (${wish.use}) is taken by another program — choose another with ${wish.flag} N, or ${wish.flag} 0 for any free one`,
        );
      case "EACCES":
        throw new MeshError(
          "permission_denied",
          `port ${wish.port} (${wish.use}) may not be opened — choose one above 1023 with ${wish.flag} N`,
        );
      case "EADDRNOTAVAIL":
      case "ENOTFOUND":
        throw new MeshError(
          "invalid_argument",
          `${wish.host} is not an address of this device — choose another with --host H`,
        );
      default:
        throw error;
    }
  }
}

function probe(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      const chosen = typeof address === "object" && address !== null ? address.port : port;
      server.close(() => resolve(chosen));
    });
  });
}
