/* In place of a keeper of drafts, for who may only read: nothing is written, so nothing is kept. */

export class NoDrafts {
  offer() {
    return null;
  }

  async meet() {}

  note() {}

  async saved() {}

  async discard() {}
}
