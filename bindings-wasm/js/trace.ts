/** Who is told of the messages of one client or server. */

/** Sees a message as JSON text: ">" sent, "<" received. What belongs to one pipe or session has one conversation; 0 is
 *  a message that was refused before it belonged to any. A client has one conversation. */
export type Trace = (direction: ">" | "<", message: string, conversation: number) => void;

/** Where a host writes down what all its objects exchange, when it was asked to. */
type Journal = (role: "client" | "server") => Trace | undefined;

let journal: Journal | undefined;

/** For entry points of hosts that can write. */
export function useJournal(host: Journal): void {
  journal = host;
}

/** The user's trace and the host's journal as one; undefined when there is neither. */
export function tracer(role: "client" | "server", own: Trace | undefined): Trace | undefined {
  const kept = journal?.(role);
  if (own === undefined || kept === undefined) return own ?? kept;
  return (direction, message, conversation) => {
    kept(direction, message, conversation);
    own(direction, message, conversation);
  };
}
