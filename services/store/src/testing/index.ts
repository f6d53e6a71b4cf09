export { emptyTestDatabase, type TestDatabase, testDatabase } from "./test-database.ts";
