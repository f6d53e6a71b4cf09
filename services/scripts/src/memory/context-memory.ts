export class ContextMemory {}
