/** `http`: requests to other servers. */

import { outside } from "./outside.ts";
import type { Value, Values } from "./value.ts";

/** What a server answered. Servers that cannot be reached are an answer with status 0 and a `message` that says why. */
export interface HttpResponse {
  status: number;
  /** Equal to `status`. */
  code: number;
  /** A value if the answer was JSON, else text; other content as base64. */
  data: Value;
  /** Values by name, as in `headers["Content-Type"][0]`. */
  headers: Record<string, string[]>;
  message: string;
}

/** Fields for the address: an object, a list of pairs, or text such as `a=1&b=2`. */
export type HttpQuery = Values | [string, Value][] | string | null;

/** Headers: an object, or a list of objects. */
export type HttpHeaders = Record<string, string> | Record<string, string>[] | null;

/** A file to upload; `data` is base64 or a data URI. */
export interface HttpFile {
  name: string;
  filename?: string;
  content_type?: string;
  data: string;
}

/**
 * Requests to other servers. A payload that is not text is sent as JSON, or as the form that a `Content-Type` header names.
 * A status such as 404 is an answer, not an error.
 */
export interface Http {
  /**
   * Gets.
   * @example
   * const { status, data } = http.Get("https://api.example.com/users", { page: 2 }, { Authorization: "Bearer x" });
   */
  Get(url: string, query?: HttpQuery, headers?: HttpHeaders): HttpResponse;
  /**
   * Asks for the headers only.
   * @example
   * const size = http.Head("https://example.com/big.zip").headers["Content-Length"]?.[0];
   */
  Head(url: string, payload?: Value, query?: HttpQuery, headers?: HttpHeaders): HttpResponse;
  /**
   * Posts, with files if given.
   * @example
   * http.Post("https://api.example.com/users", { name: "Ann" });
   * http.Post("https://api.example.com/files", { title: "Cat" }, [{ name: "file", filename: "cat.png", data: "iVBORw0KGgo=" }]);
   */
  Post(url: string, payload?: Value, files?: HttpFile[] | null, query?: HttpQuery, headers?: HttpHeaders): HttpResponse;
  /**
   * Puts.
   * @example
   * http.Put("https://api.example.com/users/7", { name: "Ann" });
   */
  Put(url: string, payload?: Value, query?: HttpQuery, headers?: HttpHeaders): HttpResponse;
  /**
   * Patches.
   * @example
   * http.Patch("https://api.example.com/users/7", { name: "Ann" });
   */
  Patch(url: string, payload?: Value, query?: HttpQuery, headers?: HttpHeaders): HttpResponse;
  /**
   * Deletes.
   * @example
   * http.Delete("https://api.example.com/users/7");
   */
  Delete(url: string, payload?: Value, query?: HttpQuery, headers?: HttpHeaders): HttpResponse;
  /**
   * Sends a request of any method.
   * @example
   * http.Send("OPTIONS", "https://api.example.com/users");
   */
  Send(
    method: string,
    url: string,
    payload?: Value,
    query?: HttpQuery,
    headers?: HttpHeaders,
    files?: HttpFile[] | null,
  ): HttpResponse;
  /**
   * Sends a request and gets the answer line by line; return 0 to stop.
   * @example
   * http.Stream("GET", "https://api.example.com/events", (line) => {
   *   console.log(line);
   *   return line === "data: [DONE]" ? 0 : 1;
   * });
   */
  Stream(
    method: string,
    url: string,
    onLine: (line: string) => number | void,
    payload?: Value,
    query?: HttpQuery,
    headers?: HttpHeaders,
  ): HttpResponse;
}

/**
 * Requests to other servers.
 *
 * @example
 * const weather = http.Get("https://api.example.com/weather", { city: "Oslo" });
 * if (weather.status !== 200) throw new Exception("No weather today", weather.status);
 */
export const http: Http = outside("http");
