// The commands in threads of comments.

import { type Comment, type CommentReply, type CommentThread, type Disposable, commands } from "vscode";
import type { Acting } from "../acting/acting";
import type { CommentThreads } from "../review/comments";

/** Registers the commands: VS Code calls them with what the button belongs to. */
export function registerCommentCommands(acting: Acting, threads: CommentThreads): readonly Disposable[] {
  const register = (id: string, aim: string, command: (target: never) => Promise<void>): Disposable =>
    commands.registerCommand(id, (target: never) => acting.attempt(aim, () => command(target)));
  return [
    register("snapd.comment", "add the comment", (reply: CommentReply) => threads.send(reply)),
    register("snapd.replyToComment", "send the reply", (reply: CommentReply) => threads.send(reply)),
    register("snapd.sendCommentAgain", "send it again", (unsent: Comment) => threads.sendAgain(unsent)),
    register("snapd.resolveComment", "resolve the comment", (thread: CommentThread) =>
      threads.resolve(thread, "resolved"),
    ),
    register("snapd.reopenComment", "reopen the comment", (thread: CommentThread) => threads.resolve(thread, "open")),
    commands.registerCommand("snapd.discardComment", (unsent: Comment) => {
      threads.discard(unsent);
    }),
  ];
}
