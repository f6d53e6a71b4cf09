/** A connector as a call takes it. */

import type { JsonObject } from "@mesh/kernel";

/** A connector whose `$ENV` names and key are resolved. */
export interface Connector {
  readonly id: string;
  /** Wire protocol: openai, demo, ... */
  readonly type: string;
  readonly model: string;
  /** Base URL, such as https://api.openai.com/v1. */
  readonly host?: string;
  readonly key?: string;
  /** Everything else of the connector's options. */
  readonly options: JsonObject;
}
