/** How stored keys are bound to their place. */

/** Binds a sealed key to its row. */
export function keyContext(workspaceId: string, connectorId: string): string {
  return `connector/${workspaceId}/${connectorId}`;
}
