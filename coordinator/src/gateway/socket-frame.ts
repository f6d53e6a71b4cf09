/** What clients say on `/v1/ws`, as bounded shapes. */

import { MeshError } from "@mesh/kernel";
import { z } from "zod";

const id: z.ZodString = z.string().min(1).max(64);

const FRAME: z.ZodType<ClientFrame> = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("auth"), token: z.string().min(1).max(512) }),
  z
    .strictObject({
      type: z.literal("subscribe"),
      id,
      run: z.string().min(1).max(200).optional(),
      feed: z.string().min(1).max(200).optional(),
      after_seq: z
        .int()
        .min(0)
        .max(2 ** 31 - 1)
        .default(0),
    })
    .refine(({ run, feed }) => (run === undefined) !== (feed === undefined), "name either a run or a feed"),
  z.strictObject({ type: z.literal("unsubscribe"), id }),
]);

/** Wants the events of a run, or of a workspace's feed: exactly one of them is named. */
export interface Subscribe {
  readonly type: "subscribe";
  readonly id: string;
  readonly run?: string | undefined;
  /** Id or name of a workspace. */
  readonly feed?: string | undefined;
  readonly after_seq: number;
}

/** One frame of a client. */
export type ClientFrame =
  | { readonly type: "auth"; readonly token: string }
  | Subscribe
  | { readonly type: "unsubscribe"; readonly id: string };

/** One frame of the gateway. */
export type ServerFrame =
  | { readonly type: "ready"; readonly user: string }
  | { readonly type: "event"; readonly id: string; readonly event: unknown }
  | { readonly type: "end"; readonly id: string }
  | { readonly type: "error"; readonly id?: string; readonly code: string; readonly message: string };

/** Reads a frame; throws `invalid_argument` that says what is wrong. */
export function readFrame(text: string): ClientFrame {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    throw new MeshError("invalid_argument", "a frame must be a JSON object", { cause: thrown });
  }
  const frame = FRAME.safeParse(parsed);
  if (frame.success) return frame.data;
  const issue = frame.error.issues[0];
  const field = issue?.path.join(".") ?? "";
  const where = [field, issue?.message ?? ""].filter((part) => part !== "").join(": ");
  throw new MeshError(
    "invalid_argument",
    `this frame is not understood (${where}); send {"type":"subscribe","id":"1","run":"run_…","after_seq":0}`,
  );
}
