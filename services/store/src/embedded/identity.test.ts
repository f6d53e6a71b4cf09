import { MeshError } from "@mesh/kernel";
import { expect, test } from "vitest";

import { chooseAccount } from "./identity.ts";

const ROOT = "root:x:0:0:root:/root:/bin/bash";
const DAEMON = "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin";
const NOBODY = "nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin";
const POSTGRES = "postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash";

test("an account made for it is preferred, then postgres, then nobody, then any other", () => {
  const yao = "yao:x:900:901::/:/bin/false";
  expect(chooseAccount([ROOT, DAEMON, NOBODY, POSTGRES, yao].join("\n"))).toEqual({ uid: 900, gid: 901 });
  expect(chooseAccount([ROOT, DAEMON, NOBODY, POSTGRES].join("\n"))).toEqual({ uid: 101, gid: 104 });
  expect(chooseAccount([ROOT, DAEMON, NOBODY].join("\n"))).toEqual({ uid: 65534, gid: 65533 });
  expect(chooseAccount([ROOT, DAEMON].join("\n"))).toEqual({ uid: 1, gid: 1 });
});

test("a second name of root is never taken", () => {
  expect(chooseAccount([ROOT, "postgres:x:0:0::/:/bin/sh", NOBODY].join("\n"))).toEqual({ uid: 65534, gid: 65533 });
});

test.each(["", ROOT, "# comment\nnot an account\n+::::::"])("a machine with only root is told what to do", (passwd) => {
  expect(() => chooseAccount(passwd)).toThrow(MeshError);
  expect(() => chooseAccount(passwd)).toThrow("YAO_DATABASE_URL");
});
