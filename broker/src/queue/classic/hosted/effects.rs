//! What the machine has decided is carried out, in order, and waits where it cannot be.

use machine::metadata::image::Image;
use machine::queue::{Effect, Outcome};

use super::Hosted;
use crate::queue::classic::Context;
use crate::queue::dead_letter::Publisher;
use crate::queue::host;
use crate::queue::outbox::Outbox;
use crate::queue::protocol::{Delivered, Response};

impl Hosted {
    /// Carries out what the machine has decided, as far as it can be.
    pub(in crate::queue::classic) fn settle_effects(
        &mut self,
        now_ms: i64,
        context: &Context,
        image: &Image,
        letters: &mut Publisher,
        outbox: &mut Outbox,
    ) {
        self.letters_wait = false;
        loop {
            self.pending.extend(self.effects.drain(..));
            let Some(effect) = self.pending.pop_front() else {
                return;
            };
            match effect {
                Effect::Deliver {
                    consumer,
                    position,
                    redelivered,
                    delivery_count,
                } => match self.store.get(position) {
                    Ok(Some(message)) => outbox.deliver(
                        consumer,
                        Delivered {
                            position,
                            redelivered,
                            delivery_count,
                            message,
                        },
                    ),
                    Ok(None) => {
                        self.report_lost(position);
                        let (machine, effects) = (&mut self.machine, &mut self.effects);
                        machine.settle(now_ms, consumer, &[position], Outcome::Ack, effects);
                    }
                    Err(error) => {
                        self.pending.push_front(effect);
                        return self.fail(&error, now_ms);
                    }
                },
                Effect::Settled { position } => self.store.settle(position),
                Effect::Purged { positions } => {
                    for position in positions {
                        self.store.settle(position);
                    }
                }
                Effect::Died { position, reason } => {
                    if self.machine.config().dead_letter_exchange.is_some() {
                        if letters.is_full() {
                            self.pending.push_front(effect);
                            self.letters_wait = true;
                            return;
                        }
                        match self.store.get(position) {
                            Ok(Some(message)) => {
                                let (queue, config) = (&self.queue, self.machine.config());
                                letters.publish(image, queue, config, &message, reason, now_ms);
                                context.metrics.dead_lettered(&self.labels, reason);
                            }
                            Ok(None) => self.report_lost(position),
                            Err(error) => {
                                self.pending.push_front(effect);
                                return self.fail(&error, now_ms);
                            }
                        }
                    }
                    self.store.settle(position);
                }
                Effect::Cancelled { consumer } => outbox.push(
                    host::session_of(consumer),
                    Response::Cancelled {
                        consumer: consumer.number,
                        by_client: true,
                    },
                ),
                Effect::Unused => context.links.delete_unused(&self.queue),
            }
        }
    }
}
